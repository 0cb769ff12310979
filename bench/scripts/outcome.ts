/** What became of a script, and the table of all of them. Pure. */
import { markdownTable } from '../../cli/recipes/table.ts';

export interface Outcome {
  readonly name: string;
  /** Where it comes from: `package 1.2.3`, or `written` after a documentation. */
  readonly origin: string;
  readonly didStart: boolean;
  /** Families of the checkpoints that the agent took. */
  readonly recognised: readonly string[];
  readonly kills: number;
  /** Those that left a checkpoint to the next start. */
  readonly killsWithCheckpoint: number;
  /**
   * Starts that found a checkpoint, and how many of them are known to have gone on from it: by the line of the hooks,
   * by the agent's verdict on what the script printed and saved, or since they did fewer steps to the end.
   */
  readonly resumed: number;
  readonly restored: number;
  /** Optimizer steps of an undisturbed run; undefined where nothing counts them. */
  readonly steps: number | undefined;
  /** Those done again, in the mean of the trainings. */
  readonly lostSteps: number | undefined;
  /** Two undisturbed runs ended with the same weights. */
  readonly isDeterministic: boolean;
  /** Trainings that came to their end after kills, and how many of them with the undisturbed weights. */
  readonly trainings: number;
  readonly equal: number;
  /** Why it does not train, or not to its end; empty when it does. */
  readonly refusal: string;
  /** Of an undisturbed run. */
  readonly seconds: number;
}

export type Verdict = 'equal' | 'equal, nothing restored' | 'not equal' | 'not deterministic' | 'refused';

export function verdictOf(outcome: Outcome): Verdict {
  if (outcome.refusal !== '') return 'refused';
  if (!outcome.isDeterministic) return 'not deterministic';
  if (outcome.trainings === 0 || outcome.equal < outcome.trainings) return 'not equal';
  return outcome.restored > 0 ? 'equal' : 'equal, nothing restored';
}

const HEAD = ['script', 'from', 'started', 'recognised', 'kills after a save', 'restored', 'lost', 'result'];

export function tableOf(outcomes: readonly Outcome[]): string {
  return markdownTable(HEAD, outcomes.map(rowOf));
}

function rowOf(outcome: Outcome): string[] {
  const { lostSteps, steps } = outcome;
  const lost = lostSteps === undefined || steps === undefined ? '-' : `${lostSteps} again for ${steps}`;
  const verdict = verdictOf(outcome);
  return [
    outcome.name,
    outcome.origin,
    outcome.didStart ? 'yes' : 'no',
    outcome.recognised.join(', ') || '-',
    outcome.kills === 0 ? '0' : `${outcome.killsWithCheckpoint} of ${outcome.kills}`,
    outcome.resumed === 0 ? '-' : `${outcome.restored} of ${outcome.resumed}`,
    outcome.kills === 0 ? '-' : lost,
    verdict === 'refused' ? `refused: ${inCell(outcome.refusal)}` : verdict,
  ];
}

const LONGEST_REASON = 160;

const inCell = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim().slice(0, LONGEST_REASON);

/** One line under the table. */
export function summaryOf(outcomes: readonly Outcome[]): string {
  const count = (verdict: Verdict): number =>
    outcomes.filter((outcome) => verdictOf(outcome) === verdict).length;
  const parts = (
    ['equal', 'equal, nothing restored', 'not equal', 'not deterministic', 'refused'] as const
  ).map((verdict) => `${count(verdict)} ${verdict}`);
  const written = outcomes.filter(({ origin }) => origin === 'written').length;
  return `${outcomes.length} scripts (${written} written after a documentation): ${parts.join(', ')}`;
}
