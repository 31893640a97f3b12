//! Lists with one value of every variant of an enum, for the tests of the front ends, which word them.

/// A list of values of an enum: `Enum { pattern => values, … }`. Every variant needs a pattern, so that a new variant does
/// not compile before it has a sample; in debug builds, every value must match its pattern.
#[doc(hidden)]
#[macro_export]
macro_rules! one_of_each {
    ($name:ident { $($pattern:pat => $samples:expr,)* }) => {{
        let _exhaustive = |value: &$name| match value {
            $($pattern => {})*
        };
        let mut all: Vec<$name> = Vec::new();
        $(for sample in $samples {
            debug_assert!(matches!(sample, $pattern));
            all.push(sample);
        })*
        all
    }};
}
