/** Runs `count` of an action at once and counts the answers. */
export async function raced<T extends string>(
  count: number,
  act: (index: number) => Promise<T>,
): Promise<Record<string, number>> {
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => act(index)));
  return answers.reduce<Record<string, number>>((tally, each) => {
    tally[each] = (tally[each] ?? 0) + 1;
    return tally;
  }, {});
}
