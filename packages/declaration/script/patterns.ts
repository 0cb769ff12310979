/**
 * Regular expressions that the agent runs, in Python's syntax (`re`), on text that a script prints. The accepted part is
 * what every Python from 3.10 understands and what cannot take exponential time: no repeat inside a repeated group. The
 * agent runs them in its own process, where one that does not end would also miss the warning of an interruption.
 */

const LONGEST_PATTERN = 400;
/** Each multiplies the time by the length of a line where nothing matches. */
const MOST_OPEN_REPEATS = 3;
const MOST_GROUPS = 20;

export interface PatternFacts {
  readonly problems: readonly string[];
  /** Names of the named groups. */
  readonly names: readonly string[];
  /** All groups that capture, the named ones among them. */
  readonly captures: number;
}

interface Reader {
  readonly text: string;
  at: number;
  readonly names: string[];
  captures: number;
  openRepeats: number;
}

class PatternError extends Error {}

export function patternFacts(text: string): PatternFacts {
  const reader: Reader = { text, at: 0, names: [], captures: 0, openRepeats: 0 };
  const problems = [...sizeProblems(text)];
  if (problems.length === 0) {
    try {
      reader.at = /^\(\?[ims]+\)/.exec(text)?.[0].length ?? 0;
      readAlternatives(reader, 0);
      if (reader.at < text.length) throw new PatternError('has a ) that closes nothing');
      problems.push(...countProblems(reader));
      refuseBadRanges(text);
    } catch (error) {
      if (!(error instanceof PatternError) && !(error instanceof SyntaxError)) throw error;
      problems.push(
        `${error instanceof PatternError ? error.message : 'is no regular expression'} (at ${reader.at})`,
      );
    }
  }
  return { problems, names: reader.names, captures: reader.captures };
}

/** Such as [z-a]: throws a SyntaxError. */
const refuseBadRanges = (text: string): RegExp =>
  new RegExp(text.replace(/^\(\?[ims]+\)/, '').replaceAll('(?P<', '(?<'));

function sizeProblems(text: string): string[] {
  if (text === '' || text.length > LONGEST_PATTERN) return [`give 1 to ${LONGEST_PATTERN} characters`];
  return /[\0\r\n]/.test(text) || !text.isWellFormed()
    ? ['a line holds no such character: leave out NUL and newlines']
    : [];
}

function countProblems({ names, captures, openRepeats }: Reader): string[] {
  const problems: string[] = [];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) problems.push(`names the group ${twice} twice: give each group a name of its own`);
  if (captures > MOST_GROUPS) problems.push(`has ${captures} groups: keep to ${MOST_GROUPS}`);
  if (openRepeats > MOST_OPEN_REPEATS)
    problems.push(
      `repeats . without a limit ${openRepeats} times: keep to ${MOST_OPEN_REPEATS}, or name the characters, such as \\S+`,
    );
  return problems;
}

/** Whether what was read may take several forms: it must not be repeated then. */
interface Form {
  readonly varies: boolean;
}

const DEEPEST = 10;

function readAlternatives(reader: Reader, depth: number): Form {
  if (depth > DEEPEST) throw new PatternError('has groups inside each other to no end: write it flat');
  let varies = false;
  for (;;) {
    const next = reader.text[reader.at];
    if (next === undefined || next === ')') return { varies };
    if (next === '|') {
      varies = true;
      reader.at += 1;
    } else if (readRepeated(reader, depth).varies) varies = true;
  }
}

const ATOM =
  /\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[dDwWsSbBAZnrtfva]|[^A-Za-z0-9])|\[\^?\]?(?:\\.|[^\]\\])*\]|[^\\[\](){}*+?|]|[\]}]/uy;
const QUANTIFIER = /(?:[*+?]|\{(?:\d{1,3}(?:,\d{0,3})?|,\d{1,3})\})\??/y;

function readRepeated(reader: Reader, depth: number): Form {
  const atom = taken(reader, ATOM);
  const inside = atom === undefined ? readGroup(reader, depth) : { varies: false };
  const quantifier = taken(reader, QUANTIFIER);
  if (quantifier === undefined) return inside;
  if (/[*+?{]/.test(reader.text[reader.at] ?? '')) throw new PatternError('repeats a repeat: leave one out');
  const { least, most } = boundsOf(quantifier);
  if (most > 1 && inside.varies)
    throw new PatternError(
      'repeats a group that holds a repeat or alternatives, which can take for ever: write it without',
    );
  if (atom === '.' && most === Number.POSITIVE_INFINITY) reader.openRepeats += 1;
  return { varies: inside.varies || least !== most };
}

function boundsOf(quantifier: string): { readonly least: number; readonly most: number } {
  const sign = quantifier[0];
  if (sign === '?') return { least: 0, most: 1 };
  if (sign !== '{') return { least: sign === '+' ? 1 : 0, most: Number.POSITIVE_INFINITY };
  const [least = '', most = least] = quantifier.replace(/[{}?]/g, '').split(',');
  return { least: Number(least), most: most === '' ? Number.POSITIVE_INFINITY : Number(most) };
}

const GROUP = /\((?:\?(?::|=|!|P<([A-Za-z_][A-Za-z0-9_]{0,63})>))?/y;

function readGroup(reader: Reader, depth: number): Form {
  const opening = taken(reader, GROUP);
  if (opening === undefined || reader.text[reader.at] === '?')
    throw new PatternError(
      'has something here that this service does not accept: it knows (?P<name>…), (?:…), (?=…), (?!…), classes, | and repeats',
    );
  const name = /<(.*)>/.exec(opening)?.[1];
  if (name !== undefined) reader.names.push(name);
  if (name !== undefined || opening === '(') reader.captures += 1;
  const inside = readAlternatives(reader, depth + 1);
  if (reader.text[reader.at] !== ')') throw new PatternError('has a ( without ): close it');
  reader.at += 1;
  return inside;
}

function taken(reader: Reader, expression: RegExp): string | undefined {
  expression.lastIndex = reader.at;
  const found = expression.exec(reader.text)?.[0];
  if (found !== undefined) reader.at += found.length;
  return found;
}
