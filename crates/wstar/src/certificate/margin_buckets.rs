//! The margins of rows in buckets between powers of √2: candidate margins, with their slacks, from one pass.

/// The margins of the rows under one separator, counted in buckets.
pub(super) struct MarginBuckets {
    least: f64,
    /// Count, sum and sum of squares of the margins in each bucket; the upper ends are the powers of √2.
    sums: Vec<[f64; 3]>,
}

/// The smallest power of √2 tried as a margin. Cap: smaller and negative margins are counted in its bucket.
const LOWEST_POWER: i32 = -160;
/// The largest power of √2 tried as a margin. Cap: larger margins are counted in its bucket.
const HIGHEST_POWER: i32 = 160;

impl MarginBuckets {
    pub(super) fn new() -> Self {
        let buckets = (HIGHEST_POWER - LOWEST_POWER + 1) as usize;
        MarginBuckets {
            least: f64::INFINITY,
            sums: vec![[0.0; 3]; buckets],
        }
    }

    pub(super) fn add(&mut self, margin: f64) {
        self.least = self.least.min(margin);
        let power = if margin > 0.0 {
            ((2.0 * margin.log2()).ceil() as i32).clamp(LOWEST_POWER, HIGHEST_POWER)
        } else {
            LOWEST_POWER
        };
        let sums = &mut self.sums[(power - LOWEST_POWER) as usize];
        sums[0] += 1.0;
        sums[1] += margin;
        sums[2] += margin * margin;
    }

    /// Candidate margins, each with the slack that it needs.
    pub(super) fn margins_and_slacks(&self) -> Vec<(f64, f64)> {
        let mut tried = Vec::new();
        if self.least > 0.0 && self.least.is_finite() {
            tried.push((self.least, 0.0));
        }
        let mut below = [0.0; 3];
        for (power, sums) in (LOWEST_POWER..).zip(&self.sums) {
            below.iter_mut().zip(sums).for_each(|(below, sum)| *below += sum);
            let margin = 2f64.powf(f64::from(power) / 2.0);
            if below[0] > 0.0 {
                let squared = margin * margin * below[0] - 2.0 * margin * below[1] + below[2];
                tried.push((margin, squared.max(0.0).sqrt()));
            }
        }
        tried
    }
}
