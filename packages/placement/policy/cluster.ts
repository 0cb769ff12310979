/** Groups points around centres: k-means++ with given draws, so the same draws give the same result. */

type Point = readonly number[];

function distance(a: Point, b: Point): number {
  let sum = 0;
  for (let k = 0; k < a.length; k += 1) sum += ((a[k] ?? 0) - (b[k] ?? 0)) ** 2;
  return sum;
}

export function nearestCentre(centres: readonly Point[], point: Point): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let k = 0; k < centres.length; k += 1) {
    const gap = distance(point, centres[k] ?? []);
    if (gap < least) {
      least = gap;
      best = k;
    }
  }
  return best;
}

export function clusterCentres(
  points: readonly Point[],
  wanted: number,
  options: { readonly rounds: number; readonly draw: () => number },
): number[][] {
  let centres = spreadSeeds(points, wanted, options.draw);
  for (let round = 0; round < options.rounds; round += 1) centres = recentre(points, centres);
  return centres;
}

/** Draws each next seed with probability proportional to the square of its distance from the others. */
function spreadSeeds(points: readonly Point[], wanted: number, draw: () => number): number[][] {
  const first = points[Math.floor(draw() * points.length)];
  if (!first) return [];
  const centres: number[][] = [[...first]];
  const gaps = points.map(() => Number.POSITIVE_INFINITY);
  while (centres.length < Math.min(wanted, points.length)) {
    const newest = centres.at(-1) ?? [];
    let total = 0;
    for (const [k, point] of points.entries()) {
      gaps[k] = Math.min(gaps[k] ?? 0, distance(point, newest));
      total += gaps[k] ?? 0;
    }
    if (total <= 1e-12) break;
    let rest = draw() * total;
    const next = points.findIndex((_, k) => (rest -= gaps[k] ?? 0) <= 0);
    centres.push([...(points[next < 0 ? points.length - 1 : next] ?? [])]);
  }
  return centres;
}

function recentre(points: readonly Point[], centres: readonly Point[]): number[][] {
  const sums = centres.map((centre) => centre.map(() => 0));
  const counts = centres.map(() => 0);
  for (const point of points) {
    const k = nearestCentre(centres, point);
    counts[k] = (counts[k] ?? 0) + 1;
    const sum = sums[k] ?? [];
    for (let i = 0; i < sum.length; i += 1) sum[i] = (sum[i] ?? 0) + (point[i] ?? 0);
  }
  return centres.map((centre, k) =>
    (counts[k] ?? 0) > 0 ? (sums[k] ?? []).map((v) => v / (counts[k] ?? 1)) : [...centre],
  );
}
