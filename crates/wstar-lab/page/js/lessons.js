// The lessons: for each a scene, as the address holds it, and three sentences.

export const LESSONS = [
  {
    id: "line", title: "A line decides",
    scene: "points=B1,1;B1,0;A0,1;A0,0&classes=ham|spam&axes=free|money&method=perceptron&.start=-3,4,2&.ties=positive&line=-3,4,2&step=0",
    text: ["Each mail is a point: how often it says “free”, how often “money”. A linear classifier weighs the two, adds b, and looks at the sign.",
      "With b = −3 and w = (4, 2) every mail that says “free” is spam. The normal w points to that side; moving b shifts the line, turning w turns it.",
      "Drag the two handles: your line's errors are counted as it moves, beside the fewest that any line can make."],
  },
  {
    id: "perceptron", title: "Perceptron: one mistake at a time",
    scene: "points=B0,1;A1,0;A0,0&classes=ham|spam&axes=free|money&method=perceptron&.start=-3,4,2&.ties=positive&step=0",
    text: ["Look at one mail after the other. If the line gets it right, leave it alone; if not, add the mail to w, or take it away, with 1 in front for b.",
      "Step forward and watch the line turn towards the point that it got wrong; a point that was right may turn wrong again, and come back.",
      "After four mistakes a whole pass is clean, and the perceptron rests at (−3, 2, 4)."],
  },
  {
    id: "bound", title: "How many mistakes are possible?",
    scene: "make=separable,40,8,0.4,1&method=perceptron&step=0",
    text: ["Let R be the length of the longest point and γ a margin that some line through it all keeps. Then a perceptron cannot make more than R²/γ² mistakes, in any order, for ever.",
      "Each mistake takes w a step of at least γ in the right direction, and makes it longer by little: the two can only go together for so long.",
      "Play the run and watch the counter stay below its bound. Make the margin smaller in the data menu, and the bound grows."],
  },
  {
    id: "inseparable", title: "No line will do, and here is why",
    scene: "points=A0,0;A1,1;B0,1;B1,0&method=perceptron&.epochs=8&proof=1",
    text: ["Exclusive or: no line has both A on one side and both B on the other. The perceptron runs for ever; here it is stopped after a few passes.",
      "The proof is a handful of points: weighted by λ, those of A have the same mean as those of B. A line with all A on one side would have that mean on both.",
      "The weights are fractions, and the equation holds exactly. Move a point until a line can do it, and the proof becomes a margin."],
  },
  {
    id: "votes", title: "From mistakes to votes",
    scene: "make=overlap,80,4,0.5,0.8&method=averaged-perceptron&.epochs=4",
    text: ["Where classes overlap, the last line of a perceptron is as good as its last mistake: it never rests.",
      "So keep all lines of the run. Each has survived some points before it failed; let them vote by how long, or take their mean.",
      "Scrub through the steps to see how restless the single line is, and then look at the last frame: the mean stands still."],
  },
  {
    id: "kozinec", title: "Two points that draw near",
    scene: "make=separable,40,6,0.6,1&method=kozinec&.epsilon=0.02",
    text: ["Take a point of each class's hull and the line halfway between them. A point that lies nearer to the line than they do pulls one of them towards it.",
      "The distance of the two is more than any margin can have, and the line's own margin is less: the best margin lies between.",
      "The interval narrows with every step. When its width is the share ε of it, the line is as good as the best, up to ε."],
  },
  {
    id: "margin", title: "The widest street",
    scene: "make=separable,30,11,0.7,1&method=hard-margin",
    text: ["Of all lines that separate, take the one farthest from both classes: the middle of the widest street between them.",
      "Few points hold it in place, the support vectors, each with its α; all others could go, and nothing would change. Drag one and see.",
      "w = Σ αᵢyᵢxᵢ: the same numbers say how wide the street is, and prove that none is wider."],
  },
  {
    id: "soft", title: "Slack, and what it costs",
    scene: "make=overlap,60,2,0.5,0.9&method=svm&.C=1",
    text: ["Where no line separates, points may stand inside the street or beyond it, for a price: C for each unit of slack, the segments in the picture.",
      "A large C buys few slacks with a narrow street, a small one a wide street with many. Slide it.",
      "Each point is one of three kinds: outside with α = 0, on the edge with α between, inside with α = C. That is complementary slackness, and it is checked for every one."],
  },
  {
    id: "logistic", title: "Odds that are linear",
    scene: "make=overlap,100,5,0.5,0.9&method=logistic",
    text: ["Logistic regression gives a probability: the logarithm of the odds is w·x + b, and the line is where the odds are even.",
      "The shading grows with certainty. Rest on a point to see its log-odds, and what each coordinate adds to them.",
      "No formula gives w at once; Newton's method takes a few steps, and the gap tells how much each leaves to be gained."],
  },
  {
    id: "descent", title: "Downhill",
    scene: "make=line,60,1,0.5,1&method=least-squares&.solver=gradient-descent&.learning_rate=0.05&.max_iter=120",
    text: ["A line through points, by the least sum of squares: every line is a place (w₀, w₁) on the map, and the sum is its height.",
      "Gradient descent walks down the steepest way. A small rate α takes many steps along the valley; a large one jumps across it, or out of it.",
      "Give it momentum β, and it keeps some of its last step: it swings, but crosses the valley's floor faster."],
  },
  {
    id: "noise", title: "A step for every point",
    scene: "make=line,60,1,0.5,1&method=least-squares&.solver=sgd&.learning_rate=0.1&.epochs=12&.schedule=halving&.halving=120",
    text: ["Stochastic gradient descent looks at one point, or a batch of them, and steps at once: cheap steps, in about the right direction.",
      "Near the valley's floor each point pulls its own way, and the path jitters as widely as the rate allows.",
      "So halve the rate now and then, and stay twice as long each time: the jitter shrinks, and there is still time to arrive. Larger batches calm it too."],
  },
  {
    id: "outliers", title: "The pull of far points",
    scene: "make=outliers,60,2,0.5,1&method=mse-classifier",
    text: ["Least squares on −1 and +1 is the naive way to a classifier. It wants every point at its number, and is as unhappy with a point far on the right side as with one on the wrong side.",
      "The far points pull the line towards them until it gets others wrong.",
      "Choose logistic regression in the menu, or press Compare: a point that is surely right pulls at nothing, and the line stays between the classes."],
  },
  {
    id: "softmax", title: "More than two classes",
    scene: "set=iris|petal length|petal width&method=softmax&.C=10",
    text: ["With three classes, give each its own score: the largest decides. Where two are equal is a straight border; three borders meet in a point.",
      "Softmax makes probabilities of the scores. These are Fisher's irises by their petals: one species stands apart, two meet.",
      "Rest on a flower near the border and see how the odds are made up."],
  },
  {
    id: "sigmoid", title: "Why not squares of a sigmoid?",
    scene: "points=A-3,0;A-2,1;A-1.5,-1;B1.5,0.5;B2,-0.5;B3,1;A6,0.5&method=logistic&.loss=sigmoid-mse&.penalty=none&.solver=gradient-descent&.learning_rate=2&.max_iter=200&.no_intercept=true",
    text: ["A sigmoid and a squared error look like a natural pair. Their landscape is not: it has plateaus, on which nothing tells the way down, and more than one valley.",
      "Start elsewhere (say −4, 2) and see where the walk ends. All that can be claimed is a slope of zero.",
      "Choose the logistic loss instead: one valley, a slope everywhere, and a gap that says how far it is."],
  },
  {
    id: "bayes", title: "Learning the clouds themselves",
    scene: "make=rings,120,1,0.5,1&method=gaussian",
    text: ["Another way to learn: estimate how each class is spread, and decide for the class under which a point is likelier.",
      "With a covariance for each class the border is a curve of the second degree, and it can hold a ring. With one in common it is a line: choose the linear discriminant.",
      "The estimates maximise the likelihood; the certificate recomputes each from its definition."],
  },
  {
    id: "fewest", title: "The fewest errors",
    scene: "make=overlap,60,9,0.5,1&method=min-error",
    text: ["What we want is few errors. To find the line with the fewest is hard in general, so all other methods minimise something smoother in their place.",
      "With few points in the plane it can be done, and proved: every line is as good as one through two points, and all of those can be tried.",
      "Press Compare, and see how many errors each of the others makes above that."],
  },
];

/** The lesson of this name, if there is one. */
export const lesson = (id) => LESSONS.find((one) => one.id === id) ?? null;
