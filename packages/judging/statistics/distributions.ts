/** Tails of the binomial and of Student's t distribution, by one continued fraction. Tests compare them with SciPy's. */

/** Stirling's series behind a shift, for x > 0; good to 14 digits. */
function logGamma(x: number): number {
  let [shifted, product] = [x, 1];
  while (shifted < 12) {
    product *= shifted;
    shifted += 1;
  }
  const inverse = 1 / (shifted * shifted);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / shifted;
  return (
    (shifted - 0.5) * Math.log(shifted) - shifted + 0.5 * Math.log(2 * Math.PI) + series - Math.log(product)
  );
}

/** Terms of the fraction of the incomplete beta function, by Lentz's method; DLMF 8.17.22. */
function betaFraction(x: number, a: number, b: number): number {
  const smallest = 1e-300;
  const nonzero = (value: number) => (Math.abs(value) < smallest ? smallest : value);
  let [c, d] = [1, 1 / nonzero(1 - ((a + b) * x) / (a + 1))];
  let fraction = d;
  for (let m = 1; m < 10_000; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonzero(1 + even * d);
    c = nonzero(1 + even / c);
    fraction *= c * d;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonzero(1 + odd * d);
    c = nonzero(1 + odd / c);
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return fraction;
}

/** The regularised incomplete beta function I_x(a, b). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x);
  return (Math.exp(front) * betaFraction(x, a, b)) / a;
}

/** How likely so many heads or more are in so many throws of a fair coin. */
export const coinTail = (heads: number, throws: number): number =>
  heads <= 0 ? 1 : incompleteBeta(0.5, heads, throws - heads + 1);

/** How likely Student's t is above `t`. */
export function studentTail(t: number, degrees: number): number {
  const half = incompleteBeta(degrees / (degrees + t * t), degrees / 2, 0.5) / 2;
  return t >= 0 ? half : 1 - half;
}

/** The t that is exceeded with this chance, from 1e-12 to 0.5. */
export function studentAbove(chance: number, degrees: number): number {
  let [low, high] = [0, 1];
  while (studentTail(high, degrees) > chance) high *= 2;
  for (let halvings = 0; halvings < 100 && high - low > 1e-12 * high; halvings += 1) {
    const middle = (low + high) / 2;
    if (studentTail(middle, degrees) > chance) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
