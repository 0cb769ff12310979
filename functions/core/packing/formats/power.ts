/**
 * A power by squaring, in any arithmetic.
 *
 * @param one what changes nothing in a product
 * @param exponent a whole number of any size, 0 or more
 */
export function power<T>(multiply: (a: T, b: T) => T, one: T, base: T, exponent: number): T {
  let square = base;
  let result = one;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}
