/** All that happens to one script: two undisturbed runs, then trainings that are killed at drawn moments. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Trial } from '../../cli/try/host.ts';
import { drawKill, type Kill } from './kills.ts';
import type { Outcome } from './outcome.ts';
import { originText, type Script } from './own-script.ts';
import { playStart, type Start } from './start.ts';

export interface CampaignOptions {
  readonly kills: number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly onStep: (text: string) => void;
}

interface Tally {
  readonly undisturbed: Start;
  /** The shortest training without a kill: on a busy machine they differ. */
  seconds: number;
  readonly families: Set<string>;
  kills: number;
  killsWithCheckpoint: number;
  /** Whether the last training had at least one kill. */
  wasKilled: boolean;
  resumed: number;
  restored: number;
  stepsDone: number;
  trainings: number;
  equal: number;
}

/** Its trials: `plain` without anything of ours, `declared` as a user would declare the script. */
export interface Trials {
  readonly plain: Trial;
  readonly declared: Trial;
}

export async function playCampaign(
  script: Script,
  trials: Trials,
  options: CampaignOptions,
): Promise<Outcome> {
  const play = player(script, trials, options);
  const first = await play(trials.plain, undefined, undefined);
  const outcome = (given: Partial<Outcome>): Outcome => outcomeOf(script, first, given);
  if (first.exitCode !== 0) return outcome({ refusal: reasonOf(first) });
  if (first.weights === undefined)
    return outcome({ refusal: 'it ends without weights that can be compared' });
  const second = await play(trials.declared, undefined, undefined);
  const recognised = second.family === undefined ? [] : [second.family];
  if (second.exitCode !== 0) return outcome({ recognised, refusal: reasonOf(second) });
  if (second.refusal !== undefined) return outcome({ recognised, refusal: second.refusal });
  const tally: Tally = {
    undisturbed: first,
    seconds: Math.min(first.seconds, second.seconds),
    families: new Set(recognised),
    kills: 0,
    killsWithCheckpoint: 0,
    wasKilled: true,
    resumed: 0,
    restored: 0,
    stepsDone: 0,
    trainings: 0,
    equal: 0,
  };
  let refusal = '';
  while (refusal === '' && tally.kills < options.kills)
    refusal = await train(play, trials.declared, options, tally);
  const { kills, killsWithCheckpoint, resumed, restored, trainings, equal } = tally;
  return outcome({
    kills,
    killsWithCheckpoint,
    resumed,
    restored,
    trainings,
    equal,
    recognised: [...tally.families],
    refusal,
    isDeterministic: first.weights === second.weights,
    lostSteps:
      first.steps === undefined || trainings === 0
        ? undefined
        : Math.round(tally.stepsDone / trainings - first.steps),
  });
}

type Play = (trial: Trial, earlier: Start | undefined, killed: Kill | undefined) => Promise<Start>;

/** Starts it under names of their own; what a host leaves is removed once the next one has its checkpoints. */
function player(script: Script, { declared }: Trials, options: CampaignOptions): Play {
  let count = 0;
  return async (trial, earlier, killed) => {
    count += 1;
    const name = `${script.name}-${count}`;
    const start = await playStart(trial, {
      name,
      earlier: earlier?.checkpoints,
      killed,
      result: script.result,
      // A resumed script that gets the same weights then has them from its checkpoint, and not by the same draw.
      seed: earlier?.family === undefined ? 0 : count,
      signal: options.signal,
    });
    await rm(join(declared.work, `${script.name}-${count - 1}`), { recursive: true, force: true });
    const end = start.wasKilled ? `killed after ${start.seconds.toFixed(1)} s` : `exit ${start.exitCode}`;
    options.onStep(`  ${name}: ${end}, ${start.steps ?? 'no'} steps, ${start.family ?? 'no checkpoint'}`);
    return start;
  };
}

/** One training to its end, killed at drawn moments as long as kills are left. Why it did not end, or ''. */
async function train(
  play: Play,
  trial: Trial,
  { kills, random }: CampaignOptions,
  tally: Tally,
): Promise<string> {
  let earlier: Start | undefined;
  for (;;) {
    const killed = tally.kills < kills ? drawKill(random, tally.seconds, tally.wasKilled) : undefined;
    const start = await play(trial, earlier, killed);
    tally.stepsDone += start.steps ?? 0;
    if (start.family !== undefined) tally.families.add(start.family);
    if (earlier?.family !== undefined) countResume(start, tally);
    if (start.refusal !== undefined) return start.refusal;
    if (start.wasKilled) {
      tally.kills += 1;
      if (start.family !== undefined) tally.killsWithCheckpoint += 1;
      earlier = start;
      continue;
    }
    if (start.exitCode !== 0) return reasonOf(start);
    countEnd(start, earlier, tally);
    return '';
  }
}

function countEnd(start: Start, earlier: Start | undefined, tally: Tally): void {
  const { undisturbed } = tally;
  tally.trainings += 1;
  tally.wasKilled = earlier !== undefined;
  if (start.weights === undisturbed.weights) tally.equal += 1;
  if (earlier === undefined) tally.seconds = Math.min(tally.seconds, start.seconds);
}

/** Of a start with a checkpoint before it. A kill may come before it shows anything. */
function countResume(start: Start, tally: Tally): void {
  const { undisturbed } = tally;
  const isShorter =
    !start.wasKilled && undisturbed.steps !== undefined && (start.steps ?? 0) < undisturbed.steps;
  tally.resumed += 1;
  if (start.isRestored || isShorter) tally.restored += 1;
}

/** The agent's own report if it wrote one, else the script's last line. */
function reasonOf({ failure, lines, exitCode }: Start): string {
  const own = lines.findLast((line) => /^tidewheel: (cannot|no automatic)/.test(line));
  const last = failure.split('\n').findLast((line) => line.trim() !== '');
  return own ?? last ?? lines.at(-1) ?? `exit code ${exitCode}`;
}

const outcomeOf = (script: Script, first: Start, given: Partial<Outcome>): Outcome => ({
  ...unprepared(script, ''),
  didStart: first.exitCode === 0 || first.steps !== undefined,
  steps: first.steps,
  seconds: first.seconds,
  ...given,
});

/** What there is to say of a script that never ran. */
export function unprepared({ name, origin }: Script, refusal: string): Outcome {
  return {
    name,
    origin: originText(origin),
    didStart: false,
    recognised: [],
    kills: 0,
    killsWithCheckpoint: 0,
    resumed: 0,
    restored: 0,
    steps: undefined,
    lostSteps: undefined,
    isDeterministic: false,
    trainings: 0,
    equal: 0,
    refusal,
    seconds: 0,
  };
}
