//! Run-time dispatch: one loop compiled for several instruction sets, of which the widest available one is called.
//!
//! No fused multiply-adds are generated, so every version gives the same bits.

/// Defines functions over slices of `T` that run a scalar implementation compiled for the widest vectors of the processor.
/// The scalar implementation must be `#[inline(always)]`, so that it is compiled again inside each version.
macro_rules! widest {
    ($($(#[$doc:meta])* pub fn $name:ident<T>($($argument:ident: $type:ty),*) -> $result:ty = $plain:ident;)*) => {
        $($(#[$doc])*
        pub fn $name<T: Copy + Into<f64>>($($argument: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq")]
                fn wide512<T: Copy + Into<f64>>($($argument: $type),*) -> $result {
                    $plain($($argument),*)
                }
                #[target_feature(enable = "avx2")]
                fn wide256<T: Copy + Into<f64>>($($argument: $type),*) -> $result {
                    $plain($($argument),*)
                }
                use $crate::dispatch::{has_avx2, has_avx512};
                if has_avx512() {
                    // SAFETY: the check has shown that the processor has the instructions; there is no other condition.
                    return unsafe { wide512($($argument),*) };
                }
                if has_avx2() {
                    // SAFETY: as above.
                    return unsafe { wide256($($argument),*) };
                }
            }
            $plain($($argument),*)
        })*
    };
}

pub(super) use widest;

/// Whether the processor has vectors of eight doubles.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("avx512dq")
}

/// Whether the processor has vectors of four doubles.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}
