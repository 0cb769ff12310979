/** `g5` of `g5.xlarge`; a name without a dot is a family of its own. */
export const familyOf = (instanceType: string): string => instanceType.split('.', 1)[0] ?? instanceType;

const SIZE = /^(?:nano|micro|small|medium|large|\d{0,3}xlarge|metal(?:-\d{1,3}xl)?)$/;
/** Generations come one by one; what is further ahead is a slip. */
const MOST_AHEAD = 2;

/**
 * The newest known type of the same kind, where the name is one of a later generation: g9.xlarge is like g7.xlarge, and
 * p6-b400.48xlarge like p6-b300.48xlarge. AWS has it before a list does, so AWS decides.
 * @returns undefined for any other name
 */
export function likeEarlier(instanceType: string, names: Iterable<string>): string | undefined {
  const [family, size] = [familyOf(instanceType), instanceType.slice(familyOf(instanceType).length + 1)];
  if (!SIZE.test(size)) return undefined;
  const alike = [...names]
    .filter((name) => kindOf(familyOf(name)) === kindOf(family))
    .toSorted((a, b) => compared(familyOf(a), familyOf(b)));
  const newest = alike.at(-1);
  if (newest === undefined || compared(family, familyOf(newest)) <= 0) return undefined;
  const [own = 0] = generationsOf(family);
  const [known = 0] = generationsOf(familyOf(newest));
  return own <= known + MOST_AHEAD ? newest : undefined;
}

/** `p-b` of p6-b300. */
const kindOf = (family: string): string => family.replaceAll(/\d+/g, '');
const generationsOf = (family: string): readonly number[] => (family.match(/\d+/g) ?? []).map(Number);

/** Above 0 where the first is of a later generation. */
function compared(one: string, other: string): number {
  const others = generationsOf(other);
  const differing = generationsOf(one).map((number, index) => number - (others[index] ?? 0));
  return differing.find((difference) => difference !== 0) ?? 0;
}
