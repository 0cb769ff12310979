/** The known name that a mistyped one means. It needs no package and no types, so that it also runs before set-up. */

/** A name with more changes than this means something else. */
const MOST_CHANGES = 3;

/** The first letters of a name, from so many on, stand for it. */
const FEWEST_LETTERS = 4;

/**
 * @param {string} name
 * @param {readonly string[]} known
 * @returns {string | undefined} the name with the fewest changed letters, the shortest of several, else the only one
 * that begins so; undefined if none is close
 */
export function nearest(name, known) {
  const close = known
    .filter((each) => Math.abs(each.length - name.length) <= MOST_CHANGES)
    .map((each) => ({ each, changes: changesBetween(name, each) }))
    .filter(({ each, changes }) => changes <= Math.min(MOST_CHANGES, each.length / 3));
  const [best] = close.toSorted(
    (a, b) => a.changes - b.changes || a.each.length - b.each.length || (a.each < b.each ? -1 : 1),
  );
  return best === undefined ? onlyOneFrom(name, known) : best.each;
}

/**
 * @param {string} letters
 * @param {readonly string[]} known
 */
function onlyOneFrom(letters, known) {
  const [only, other] = known.filter((each) => each.startsWith(letters));
  return letters.length >= FEWEST_LETTERS && other === undefined ? only : undefined;
}

/**
 * Levenshtein's distance, where two swapped neighbours are one change: "wacth".
 * @param {string} from
 * @param {string} to
 */
function changesBetween(from, to) {
  /** @type {number[]} */
  let earlier = [];
  let before = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [row, letter] of from.split('').entries()) {
    const now = [row + 1];
    for (const [column, other] of to.split('').entries()) {
      const isSwap = letter === to[column - 1] && other === from[row - 1];
      now.push(
        Math.min(
          (before[column] ?? 0) + (letter === other ? 0 : 1),
          (before[column + 1] ?? 0) + 1,
          (now[column] ?? 0) + 1,
          isSwap ? (earlier[column - 1] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    earlier = before;
    before = now;
  }
  return before.at(-1) ?? 0;
}
