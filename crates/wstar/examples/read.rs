//! How fast a file is read: `cargo run --release -p wstar --example read -- FILE`.
fn main() {
    let name = std::env::args().nth(1).unwrap();
    for _ in 0..5 {
        let f = std::fs::File::open(&name).unwrap();
        let b = wstar::kernel::map::map(&f).unwrap();
        let t = std::time::Instant::now();
        let m = wstar::io::svm(&b).unwrap();
        let s = t.elapsed().as_secs_f64();
        println!("{} rows {} MB/s", m.design.rows(), b.len() as f64 / 1e6 / s);
    }
}
