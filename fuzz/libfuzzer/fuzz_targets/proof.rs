#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wstar_fuzz::targets::proof(bytes));
