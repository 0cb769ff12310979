/** What the starts of a script show together, and the line of the declaration to change. Pure. */
import type { Phase } from './phase.ts';

/** `unknown`: it saved or printed nothing from which the step could be seen. */
export type Restored = 'yes' | 'no' | 'unknown';

type Verdict =
  | 'ready'
  | 'restores nothing'
  | 'restore not shown'
  | 'the declared step does not move'
  | 'automatic checkpoints fail'
  | 'saves nothing'
  | 'hangs'
  | 'fails'
  | 'ends before anything can be interrupted';

export interface TryFinding {
  readonly verdict: Verdict;
  readonly restored: readonly Restored[];
  /** What to change; empty when nothing is needed. */
  readonly remedy: string;
}

/** Each start but the last is interrupted. */
const STARTS = 3;

/** A save that a script names by no step is counted by the agent: its number then proves nothing. */
const isCounted = ({ firstNew, after, saves, before }: Phase): boolean =>
  (firstNew ?? after)?.unit === 'saves' || (before === undefined && saves > 0 && (after?.step ?? 0) <= saves);

function wasRestored(first: Phase, previous: Phase, phase: Phase): Restored {
  const safe = phase.before;
  if (safe === undefined || hasFailed(phase)) return 'unknown';
  if (phase.restoredStep !== undefined) return 'yes';
  if (phase.beganAgainAt !== undefined) return 'no';
  const printed = byPrintedSteps(first, previous, phase);
  if (printed !== undefined) return printed;
  if (phase.firstNew === undefined || isCounted(first) || isCounted(phase)) return 'unknown';
  return phase.firstNew.step > safe.step ? 'yes' : 'no';
}

/** Undefined where the steps that the starts printed do not show it. */
function byPrintedSteps(first: Phase, previous: Phase, phase: Phase): 'yes' | 'no' | undefined {
  const [begun, earlier, now] = [first.printed, previous.printed ?? first.printed, phase.printed];
  if (!begun || !earlier || begun.word !== now?.word || earlier.last <= begun.first) return undefined;
  return now.first > begun.first ? 'yes' : 'no';
}

export const hasFailed = ({ endedBy, exitCode }: Phase): boolean => endedBy === 'itself' && exitCode !== 0;

export interface TriedScript {
  /** `training.checkpoint` names its files. */
  readonly namesFiles: boolean;
  /** Nothing in the source speaks of PyTorch, which automatic checkpoints need. */
  readonly isWithoutTorch: boolean;
}

/** In the order in which they were played; the first is never a resumption. */
export function findingOf(
  phases: readonly Phase[],
  script: TriedScript = { namesFiles: false, isWithoutTorch: false },
): TryFinding {
  const [first] = phases;
  if (first === undefined) throw new RangeError('a trial has a first start');
  const restored = phases.slice(1).map((phase, index) => wasRestored(first, phases[index] ?? first, phase));
  const verdict = verdictOf(phases, restored, script);
  return { verdict, restored, remedy: remedyOf(verdict, phases, script) };
}

function verdictOf(
  phases: readonly Phase[],
  restored: readonly Restored[],
  { namesFiles }: TriedScript,
): Verdict {
  const [first] = phases;
  if (phases.some(hasFailed)) return 'fails';
  if (first?.endedBy === 'itself') return 'ends before anything can be interrupted';
  if (refusalIn(phases) !== undefined) return 'automatic checkpoints fail';
  if (first?.after === undefined) return isIdle(first) ? 'hangs' : 'saves nothing';
  if (phases.length < STARTS) return 'ends before anything can be interrupted';
  if (restored.includes('no')) return 'restores nothing';
  return namesFiles && neverMoves(phases) ? 'the declared step does not move' : shownBy(restored);
}

const shownBy = (restored: readonly Restored[]): Verdict =>
  restored.includes('unknown') ? 'restore not shown' : 'ready';

/** Each start has saved again, and its number stayed. */
const neverMoves = (phases: readonly Phase[]): boolean =>
  phases.every(({ firstNew, after }) => firstNew !== undefined && after?.step === phases[0]?.after?.step);

/** The numbers in a checkpoint's name are those of the moment: every checkpoint of such a name is meant. */
const patternOf = (name: string): string => name.replace(/\d+/g, '*');

/** A folder with a number is one checkpoint: numbers of the files in it count something else. */
const unitOf = (file: string): string => /^(?:[^/\d]*\/)*[^/]*\d[^/]*(?=\/)/.exec(file)?.[0] ?? file;

/** Python starts, and imports what the agent brings, at this much CPU at most; a script that works soon uses more. */
const START_CPU_SECONDS = 1;

const isIdle = (phase: Phase | undefined): boolean =>
  phase?.scriptLines === 0 && phase.cpuSeconds < START_CPU_SECONDS + phase.seconds / 10;

const CHECKPOINT = /\.(pt|pth|ckpt|safetensors|bin|h5|keras|pkl|joblib|npz|msgpack|ubj|tar)$/i;

const REMEDIES = {
  ready: '',
  'restore not shown':
    "training.progress: { pattern: 'step (?P<step>\\d+)' } for a line that your script prints at each step",
  hangs: 'none: the script printed nothing and used no CPU; see its last lines with --log',
  fails: 'none: correct the script first; the reason is above',
  'ends before anything can be interrupted': 'none: give it more work, such as --argument=--epochs=1000',
} as const satisfies Partial<Record<Verdict, string>>;

const isPlain = (verdict: Verdict): verdict is keyof typeof REMEDIES => Object.hasOwn(REMEDIES, verdict);

function remedyOf(verdict: Verdict, phases: readonly Phase[], { isWithoutTorch }: TriedScript): string {
  if (isPlain(verdict)) return REMEDIES[verdict];
  const name = phases.findLast(({ after }) => after)?.after?.checkpoint ?? 'NAME';
  switch (verdict) {
    case 'automatic checkpoints fail':
      return `let the script save and resume itself, without ${BY_THE_AGENT}: ${refusalIn(phases)}`;
    case 'restores nothing':
      return `training.arguments: add the option with which your script resumes, such as '--resume=\${checkpoints}/${patternOf(name)}?'${isWithoutTorch ? '' : OR_BY_THE_AGENT}`;
    case 'the declared step does not move':
      return `training.checkpoint.step: an expression for the number in ${name} that counts steps, or without step another pattern; it stayed ${phases[0]?.after?.step}`;
    case 'saves nothing':
      return savesNothing(phases[0], isWithoutTorch);
  }
}

const refusalIn = (phases: readonly Phase[]): string | undefined =>
  phases.find(({ refusal }) => refusal)?.refusal?.slice(0, 200);

const BY_THE_AGENT = 'training.checkpoint: automatic';
/** Many scripts write a model that they never read again. */
const OR_BY_THE_AGENT = `; where there is none, ${BY_THE_AGENT}`;

function savesNothing(first: Phase | undefined, isWithoutTorch: boolean): string {
  const unknown = first?.checkpointFiles[0];
  if (unknown !== undefined)
    return `training.checkpoint: { pattern: '${patternOf(unitOf(unknown))}' }: files are there, but none is known as a checkpoint`;
  const elsewhere = first?.otherFiles.find((file) => CHECKPOINT.test(file));
  if (elsewhere !== undefined) return writtenElsewhere(elsewhere) + (isWithoutTorch ? '' : OR_BY_THE_AGENT);
  return isWithoutTorch
    ? 'save to TIDEWHEEL_CHECKPOINT_DIR now and then, and load the newest file there at the start'
    : BY_THE_AGENT;
}

function writtenElsewhere(file: string): string {
  const folder = file.split('/').slice(0, -1).join('/');
  const declared = folder === '' ? '' : `training.checkpoint: { folder: '${folder}' }, or `;
  return `${declared}training.arguments: pass \${checkpoints} to the option that names where ${file} is written`;
}
