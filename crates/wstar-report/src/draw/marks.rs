//! The shapes of classes; a class is recognised by its shape as well as its colour.

/// The shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
    /// ✚
    Cross,
    /// ★
    Star,
    /// ▼
    Down,
    /// ▬
    Bar,
}

impl Shape {
    const ALL: [Shape; 8] = [
        Shape::Circle,
        Shape::Square,
        Shape::Triangle,
        Shape::Diamond,
        Shape::Cross,
        Shape::Star,
        Shape::Down,
        Shape::Bar,
    ];

    /// The shape of a class.
    pub fn of_class(class: usize) -> Self {
        Shape::ALL[class % Shape::ALL.len()]
    }

    /// The corners around the origin, with y pointing down; a circle is approximated by a polygon with 16 corners.
    pub(super) fn corners(self, r: f64) -> Vec<(i32, i32)> {
        let (a, b) = (1.15 * r, 0.42 * r);
        let around = |count: usize, radius: &dyn Fn(usize) -> f64| {
            let corner = |i: usize| {
                let angle = std::f64::consts::TAU * i as f64 / count as f64;
                (radius(i) * angle.sin(), -radius(i) * angle.cos())
            };
            (0..count).map(corner).collect::<Vec<(f64, f64)>>()
        };
        let corners = match self {
            Shape::Circle => around(16, &|_| r),
            Shape::Square => {
                let s = 0.88 * r;
                vec![(-s, -s), (s, -s), (s, s), (-s, s)]
            }
            Shape::Triangle => vec![(0.0, -1.25 * r), (1.1 * r, 0.75 * r), (-1.1 * r, 0.75 * r)],
            Shape::Down => vec![(0.0, 1.25 * r), (1.1 * r, -0.75 * r), (-1.1 * r, -0.75 * r)],
            Shape::Diamond => vec![(0.0, -1.3 * r), (1.1 * r, 0.0), (0.0, 1.3 * r), (-1.1 * r, 0.0)],
            Shape::Bar => vec![
                (-1.2 * r, -0.5 * r),
                (1.2 * r, -0.5 * r),
                (1.2 * r, 0.5 * r),
                (-1.2 * r, 0.5 * r),
            ],
            Shape::Cross => vec![
                (-b, -a),
                (b, -a),
                (b, -b),
                (a, -b),
                (a, b),
                (b, b),
                (b, a),
                (-b, a),
                (-b, b),
                (-a, b),
                (-a, -b),
                (-b, -b),
            ],
            Shape::Star => around(10, &|i| if i % 2 == 0 { 1.35 * r } else { 0.55 * r }),
        };
        let whole = |(x, y): (f64, f64)| (x.round() as i32, y.round() as i32);
        corners.into_iter().map(whole).collect()
    }
}
