//! One loop, compiled for several kinds of processors, of which the widest that this one is gets called.
//!
//! Multiplications and additions are never joined into one rounding, so every kind gives the same bits.

/// Defines functions over slices of `T` that run a plain one with the widest vectors there are. The plain one must be
/// `#[inline(always)]`: it is compiled anew within each.
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
                use $crate::kernel::widest::{has_avx2, has_avx512};
                if has_avx512() {
                    // SAFETY: the processor has the instructions, as was just asked; there is no other condition.
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

/// Whether vectors of eight doubles can be used.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx512() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("avx512dq")
}

/// Whether vectors of four doubles can be used.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}
