/** What the lines of one start say: of the script, of the agent, and of the hooks of automatic checkpoints. Pure. */
import { boundedSearch } from '@tidewheel/kit/bounded-search.ts';

const OF_TIDEWHEEL = /^\[tidewheel|^tidewheel: |^\S+ \[?tidewheel/;
const NOT_STARTED = /^\[tidewheel\] (installing requirements\.txt|cannot start: )/;
const INSTALLED = /^\[tidewheel\] installed requirements\.txt/;
/** The agent may start the script again within one start. */
const STARTED_AGAIN = /^\[tidewheel\] .*(begins again without|; trying once with) /;
const RESTORED = /^tidewheel: restored after step (\d+)/;
/** A script that names the step of the checkpoint which it reads may yet begin at another: the agent compares both. */
const BEGAN_AGAIN = /^\[tidewheel\] WARNING: the script began at (\w+ \S+), although /;
const REFUSED =
  /^\[?tidewheel\S (?:.* begins again without automatic checkpoints|automatic checkpoints are off in this run|trial of automatic checkpoints .*: refused|no automatic checkpoints(?: from step \d+ on)?): (.*)/;

export type Output = ReturnType<ReturnType<typeof outputReader>['seen']>;

/** @param pattern the declared one of a step, with a group named step */
export function outputReader(pattern?: string) {
  let steps = stepReader(pattern);
  let hasStarted = true;
  let scriptLines = 0;
  let restoredStep: number | undefined;
  let beganAgainAt: string | undefined;
  let refusal: string | undefined;
  return {
    read: (line: string): void => {
      if (OF_TIDEWHEEL.test(line)) {
        hasStarted = INSTALLED.test(line) || (hasStarted && !NOT_STARTED.test(line));
        if (STARTED_AGAIN.test(line)) [steps, restoredStep] = [stepReader(pattern), undefined];
        const restored = RESTORED.exec(line)?.[1];
        if (restored !== undefined) restoredStep = Number(restored);
        beganAgainAt ??= BEGAN_AGAIN.exec(line)?.[1];
        refusal ??= REFUSED.exec(line)?.[1];
      } else if (hasStarted) {
        scriptLines += 1;
        steps.read(line);
      }
    },
    seen: () => ({
      /** False while the requirements are being installed, and where the agent cannot start the script. */
      hasStarted,
      /** Lines which neither the agent nor an installer wrote. */
      scriptLines,
      printed: steps.seen(),
      /** After which the hooks say that the script went on. */
      restoredStep,
      /** Such as `step 0`: where the agent saw the script begin although it had a checkpoint. */
      beganAgainAt,
      /** Why automatic checkpoints save no more. */
      refusal,
    }),
  };
}

/** The agent looks at no more of a line. */
const LONGEST_LINE = 2_000;

/** The steps that a script prints: the first and the last of the word that it prints most. Pure. */
interface PrintedSteps {
  /** Such as `step`, `iter` or `epoch`. */
  readonly word: string;
  readonly first: number;
  readonly last: number;
}

/** `epochs=20` is a setting, unless a loss follows. */
const PRINTED =
  /(?<![a-z])(global_step|step|iteration|iter|it|epoch)(?:s(?!["']?\s*[:=](?!.*loss)))?["']?\s*[:=#]?\s*[[(]?\s*(\d{1,12})(?![\d.]*%)/i;

/** @param pattern the declared one, with a group named step */
function stepReader(pattern?: string): { read(line: string): void; seen(): PrintedSteps | undefined } {
  const declared = pattern === undefined ? undefined : new RegExp(pattern.replaceAll('(?P<', '(?<'));
  const words = new Map<string, { first: number; last: number; count: number }>();
  const note = (word: string, step: number): void => {
    const known = words.get(word);
    words.set(word, { first: known?.first ?? step, last: step, count: (known?.count ?? 0) + 1 });
  };
  return {
    read: (line) => {
      const own =
        declared &&
        boundedSearch('training.progress.pattern', declared, line.slice(0, LONGEST_LINE))?.groups?.['step'];
      if (own !== undefined) return note('step', Number(own));
      const [, word, step] = declared === undefined ? (PRINTED.exec(line) ?? []) : [];
      if (word !== undefined && step !== undefined) note(word.toLowerCase(), Number(step));
    },
    seen: () => {
      const [most] = [...words].toSorted(([, a], [, b]) => b.count - a.count);
      if (most === undefined) return undefined;
      const [word, { first, last }] = most;
      return { word, first, last };
    },
  };
}
