/** When the hosts of a script are killed: drawn from a seed, mostly after a checkpoint. Pure. */

/** Seconds after the agent's start, or after the first checkpoint that this start saves. */
export interface Kill {
  readonly after: 'start' | 'checkpoint';
  readonly seconds: number;
}

/** Of the kills; these come at any moment of a training, so also before its first checkpoint or in a restore. */
const SHARE_AT_ANY_MOMENT = 0.2;
/** Short, so that one training survives several kills. */
const SECONDS_AFTER_CHECKPOINT = 6;
/** Of a training, most of which may be its start. */
const SHARE_AFTER_CHECKPOINT = 0.2;

/**
 * @param random from 0 to 1; drawn twice
 * @param seconds of an undisturbed training
 * @param savesInTime false when the training before this one ended without any of its kills
 */
export function drawKill(random: () => number, seconds: number, savesInTime: boolean): Kill {
  const isAtAnyMoment = random() < SHARE_AT_ANY_MOMENT || !savesInTime;
  const moment = random();
  return isAtAnyMoment
    ? { after: 'start', seconds: moment * seconds }
    : {
        after: 'checkpoint',
        seconds: moment * Math.min(SECONDS_AFTER_CHECKPOINT, SHARE_AFTER_CHECKPOINT * seconds),
      };
}
