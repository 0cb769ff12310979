/** A value as one word of a POSIX shell, whatever it holds: inside single quotes only the single quote is special. */
export function shellQuote(value: string): string {
  if (value.includes('\0')) throw new TypeError('a shell word cannot hold a NUL character');
  return `'${value.replaceAll("'", "'\\''")}'`;
}
