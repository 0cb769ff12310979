/** The settings that a probe tries: every combination of the values that `--vary` names. */
import { mistypedName, overridesOf } from '../command/overrides.ts';

/** One combination. */
export interface Cell {
  /** Such as `training.strategy=mpi num_workers=4`. */
  readonly name: string;
  /** Such as `training.strategy=mpi`, one for each `--vary`. */
  readonly assignments: readonly string[];
  /** A part of a declaration. */
  readonly change: Readonly<Record<string, unknown>>;
}

/** More take hours, one after the other. */
const MOST_CELLS = 20;

/** Fields that hold a list: each value is a list of its own. */
const LISTS: readonly string[] = ['compute.instanceTypes'];

/** @returns what is wrong with one, to end the sentence `--vary is "x": ` */
export function varyProblem(text: string): string | undefined {
  const [name, values] = partsOf(text);
  if (name === '' || values.length === 0)
    return 'write NAME=VALUE,VALUE, such as training.strategy=ddp,mpi or num_workers=2,4';
  const mistyped = mistypedName(name);
  if (mistyped !== undefined) return mistyped;
  if (new Set(values).size < values.length) return `a value of ${name} stands there twice: leave one out`;
  return values.some((value) => value === '')
    ? `a value of ${name} is empty: leave out the comma`
    : undefined;
}

/** @returns what is wrong with all of them together */
export function gridProblem(varied: readonly string[]): string | undefined {
  const names = varied.map((text) => partsOf(text)[0]);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) return `--vary names ${twice} twice: write its values behind one`;
  const cells = varied.reduce((product, text) => product * partsOf(text)[1].length, 1);
  if (cells < 2) return '--vary leaves one combination: name two values, or one more setting';
  return cells > MOST_CELLS
    ? `--vary makes ${cells} combinations: name at most ${MOST_CELLS}, the likeliest ones`
    : undefined;
}

/** In the order of the words, the last one changes fastest. */
export function cellsOf(varied: readonly string[]): readonly Cell[] {
  const choices = varied.map((text) => {
    const [name, values] = partsOf(text);
    return values.map(
      (value) => `${name}=${LISTS.includes(name) && !value.startsWith('[') ? `[${value}]` : value}`,
    );
  });
  const combinations = choices.reduce<readonly (readonly string[])[]>(
    (before, values) => before.flatMap((chosen) => values.map((value) => [...chosen, value])),
    [[]],
  );
  return combinations.map((assignments) => ({
    name: assignments.join(' '),
    assignments,
    change: overridesOf(assignments),
  }));
}

function partsOf(text: string): readonly [name: string, values: readonly string[]] {
  const at = text.indexOf('=');
  return at < 1 ? ['', []] : [text.slice(0, at), split(text.slice(at + 1))];
}

/** At commas outside of brackets. */
function split(text: string): readonly string[] {
  const values = [''];
  let depth = 0;
  for (const letter of text) {
    if (letter === ',' && depth === 0) values.push('');
    else values[values.length - 1] += letter;
    if (/[[{(]/.test(letter)) depth += 1;
    if (/[\])}]/.test(letter)) depth -= 1;
  }
  return values.map((value) => value.trim());
}
