// The lessons: each has a scene, in the form of an address, and three paragraphs.

export const LESSONS = [
  {
    id: "line", title: "A line separates two classes",
    scene: "points=B1,1;B1,0;A0,1;A0,0&classes=ham|spam&axes=free|money&method=perceptron&.start=-3,4,2&.ties=positive&line=-3,4,2&step=0",
    text: ["Each e-mail is a point: its coordinates are the numbers of the words “free” and “money”. A linear classifier multiplies each coordinate by a weight, adds b, and predicts by the sign of the sum.",
      "With b = −3 and w = (4, 2) every e-mail with the word “free” is spam. The normal vector w points to this side. A change of b shifts the line, and a rotation of w rotates it.",
      "Drag the two handles. The page shows the number of errors of your line, and the minimum over all lines."],
  },
  {
    id: "perceptron", title: "Perceptron: one mistake at a time",
    scene: "points=B0,1;A1,0;A0,0&classes=ham|spam&axes=free|money&method=perceptron&.start=-3,4,2&.ties=positive&step=0",
    text: ["The perceptron processes one e-mail after another. After a correct prediction nothing changes. After a mistake the vector (1, x) is added to (b, w), or subtracted from it.",
      "Step forward: the line moves towards the misclassified point. A point that was classified correctly can become misclassified, and is corrected later.",
      "After four mistakes a complete pass has no mistake, and the perceptron stops at (−3, 2, 4)."],
  },
  {
    id: "bound", title: "How many mistakes are possible?",
    scene: "make=separable,40,8,0.4,1&method=perceptron&step=0",
    text: ["Let R be the largest norm of a vector (1, x), and let some line separate the classes with margin γ. Then the perceptron makes at most R²/γ² mistakes, in any order of the points and in any number of passes.",
      "Each mistake increases the product of w and the unit normal of this line by at least γ, but ‖w‖² by at most R². Together the two inequalities bound the number of mistakes.",
      "Play the run: the number of mistakes stays below the bound. A smaller margin in the data menu gives a larger bound."],
  },
  {
    id: "inseparable", title: "A proof that no line separates",
    scene: "points=A0,0;A1,1;B0,1;B1,0&method=perceptron&.epochs=8&proof=1",
    text: ["In exclusive or, no line has both points A on one side and both points B on the other. The perceptron never converges; here it stops after a few passes.",
      "The proof consists of a few points. With the weights λ, those of A have the same mean as those of B. A separating line would have this mean on both of its sides.",
      "The weights are fractions, and the equation holds exactly. Move a point until a line separates the classes, and the page shows the margin instead."],
  },
  {
    id: "votes", title: "Voted and averaged perceptron",
    scene: "make=overlap,80,4,0.5,0.8&method=averaged-perceptron&.epochs=4",
    text: ["If the classes overlap, the perceptron never converges, and its last line depends on its last mistake.",
      "The voted perceptron keeps all lines of the run and lets them vote. The weight of a line is the number of points that it classified before its next mistake. The averaged perceptron takes the mean of the lines.",
      "Move through the steps: the single line changes with every mistake. The mean, in the last frame, is stable."],
  },
  {
    id: "kozinec", title: "Kozinec's algorithm",
    scene: "make=separable,40,6,0.6,1&method=kozinec&.epsilon=0.02",
    text: ["Take a point of the convex hull of each class, and the line halfway between the two. If a data point lies nearer to the line, one of the two points moves towards it.",
      "Half the distance of the two points is an upper bound on every margin. The margin of the line is a lower bound on the largest margin.",
      "The interval between the two bounds narrows with every step. When its relative width is at most ε, the margin of the line is the largest one up to ε."],
  },
  {
    id: "margin", title: "The largest margin",
    scene: "make=separable,30,11,0.7,1&method=hard-margin",
    text: ["Of all separating lines, this one has the largest distance from the nearest points. It is the middle of the widest band between the classes.",
      "It depends on a few points only, the support vectors, each with its multiplier α. Without the other points the line would be the same. Drag a point to see this.",
      "w = Σ αᵢyᵢxᵢ. The multipliers also give the width of the band, and prove that no band is wider."],
  },
  {
    id: "soft", title: "The soft margin",
    scene: "make=overlap,60,2,0.5,0.9&method=svm&.C=1",
    text: ["If no line separates the classes, points may lie inside the band or on the wrong side of it. The segments in the picture are the slacks, and each unit of slack costs C.",
      "A large C gives little slack and a narrow band; a small C gives a wide band and much slack. Move the slider of C.",
      "Each point is in one of three cases: outside the band with α = 0, on its edge with α between 0 and C, or inside with α = C. This is complementary slackness, and it is checked for every point."],
  },
  {
    id: "logistic", title: "Logistic regression",
    scene: "make=overlap,100,5,0.5,0.9&method=logistic",
    text: ["Logistic regression predicts a probability. The logarithm of the odds is w·x + b, and on the line both classes have probability ½.",
      "The shading is darker for larger probabilities. Move the pointer over a point to see its log-odds and the contribution of each coordinate.",
      "There is no closed form for w. Newton's method takes a few steps, and the gap bounds the distance from the optimum after each step."],
  },
  {
    id: "descent", title: "Gradient descent",
    scene: "make=line,60,1,0.5,1&method=least-squares&.solver=gradient-descent&.learning_rate=0.05&.max_iter=120",
    text: ["A line is fitted by least squares. Every line is a point (w₀, w₁) of the second picture, whose contours show the sum of squares.",
      "Gradient descent moves in the direction of the negative gradient. A small rate α needs many steps along the valley; with a large rate the path oscillates across the valley, or diverges.",
      "Momentum β adds a multiple of the last step to the next one. The path oscillates, but it progresses faster along the valley."],
  },
  {
    id: "noise", title: "Stochastic gradient descent",
    scene: "make=line,60,1,0.5,1&method=least-squares&.solver=sgd&.learning_rate=0.1&.epochs=12&.schedule=halving&.halving=120",
    text: ["Stochastic gradient descent makes a step after every point, or after every batch of points. The steps are cheap, and on average they have the direction of the negative gradient.",
      "Near the optimum the gradients of single points differ in direction, and the path fluctuates in proportion to the rate.",
      "The schedule therefore halves the rate repeatedly, and doubles the number of steps at each rate. The fluctuations decrease, and the path still reaches the optimum. Larger batches reduce them too."],
  },
  {
    id: "outliers", title: "Outliers and least squares",
    scene: "make=outliers,60,2,0.5,1&method=mse-classifier",
    text: ["Least squares with the targets −1 and +1 is the simplest linear classifier. It penalises every deviation from the target, so a point far away on the correct side costs as much as a point on the wrong side.",
      "The outliers therefore shift the line until it misclassifies other points.",
      "Choose logistic regression in the menu, or press Compare: a point with a large positive margin has almost no influence, and the line stays between the classes."],
  },
  {
    id: "softmax", title: "More than two classes",
    scene: "set=iris|petal length|petal width&method=softmax&.C=10",
    text: ["With three classes each class has a linear score, and the largest score decides. Two scores are equal on a straight line; the three borders intersect in a point.",
      "Softmax converts the scores into probabilities. The data are Fisher's irises with the sizes of their petals: one species is separable from the others, and two overlap.",
      "Move the pointer over a flower near a border to see its scores and probabilities."],
  },
  {
    id: "sigmoid", title: "Why not the squared error of a sigmoid?",
    scene: "points=A-3,0;A-2,1;A-1.5,-1;B1.5,0.5;B2,-0.5;B3,1;A6,0.5&method=logistic&.loss=sigmoid-mse&.penalty=none&.solver=gradient-descent&.learning_rate=2&.max_iter=200&.no_intercept=true",
    text: ["The squared error of a sigmoid is not a convex function of the weights. It has plateaus, on which the gradient nearly vanishes, and can have several local minima.",
      "Choose another starting point, for example (−4, 2), and see where the descent ends. The certificate can only claim a gradient of zero.",
      "Choose the logistic loss instead: it is convex, so it has a single minimum, and the gap bounds the distance from it."],
  },
  {
    id: "bayes", title: "Gaussian classes",
    scene: "make=rings,120,1,0.5,1&method=gaussian",
    text: ["A generative classifier estimates the distribution of each class, and predicts the class under which a point is most likely.",
      "With a covariance for each class the border is a quadratic curve, which can separate a disc from a ring. With a common covariance it is a line: choose the linear discriminant.",
      "The estimates maximise the likelihood; the certificate recomputes each from its definition."],
  },
  {
    id: "fewest", title: "The fewest errors",
    scene: "make=overlap,60,9,0.5,1&method=min-error",
    text: ["The line with the fewest errors is hard to compute in general, so all other methods minimise a smoother objective.",
      "With few points in the plane it can be computed and proved: every line has the same errors as some line through two points, and these lines can be enumerated.",
      "Press Compare to see how many more errors each of the other methods makes."],
  },
];

/** The lesson of this name, if it exists. */
export const lesson = (id) => LESSONS.find((one) => one.id === id) ?? null;
