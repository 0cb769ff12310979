/** What a start takes: what is billed of it is a cost, and all of it has to fit before the deadline. */
import { describe, expect, it } from 'vitest';
import {
  attempt,
  hoursLater,
  poolOf,
  progress,
  question,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import { choosePlacement } from '../../decision/choose.ts';
import { secondsUntilUnsafe } from '../../decision/rules.ts';
import type { PlacementInput } from '../../decision/situation.ts';
import { situationOf } from '../../decision/situation.ts';
import { type AttemptOutcome, startsOf } from '../../records/attempts.ts';

const HOUR = 3_600;
/** Of the hour that it was billed for, 60 s brought no progress. */
const BILLED_START_SECONDS = 60;

/** An attempt that was requested at 1 h, started after so many seconds, and was lost an hour later, half of its work saved. */
function lostOnce(provisioningSeconds: number, change: Partial<PlacementInput> = {}): PlacementInput {
  const startedAt = hoursLater(1 + provisioningSeconds / HOUR);
  const endedAt = hoursLater(2 + provisioningSeconds / HOUR);
  const saved = progress(50, HOUR - BILLED_START_SECONDS);
  const lost = attempt(
    1,
    poolOf('g6.xlarge', ZONES[0]),
    { kind: 'interrupted', startedAt, endedAt, trainingSeconds: HOUR },
    { createdAt: hoursLater(1), progressAfter: saved },
  );
  return question({ attempts: [lost], progress: saved, now: hoursLater(3), ...change });
}

describe('of a start', () => {
  it('measurements replace the prior, and provisioning reduces slack', () => {
    const measured = situationOf(lostOnce(240));
    expect(measured.work.restartSeconds).toBe(BILLED_START_SECONDS);
    expect(measured.marginSeconds).toBe(900 + 240);
    const unmeasured = situationOf(question());
    expect(unmeasured.work.restartSeconds).toBe(300);
    expect(unmeasured.marginSeconds).toBe(900);
  });

  it('what a resume skips again counts, from the first on', () => {
    const input = lostOnce(0);
    const saved = progress(50, HOUR - BILLED_START_SECONDS);
    const [startedAt, endedAt] = [hoursLater(3), hoursLater(5)];
    const resumed = attempt(
      2,
      poolOf('g6.xlarge', ZONES[0]),
      { kind: 'interrupted', startedAt, endedAt, trainingSeconds: 2 * HOUR },
      {
        createdAt: startedAt,
        progressBefore: saved,
        progressAfter: progress(60, HOUR - BILLED_START_SECONDS + 1_200),
      },
    );
    const { work } = situationOf({ ...input, attempts: [...input.attempts, resumed], now: hoursLater(6) });
    expect(work.restartSeconds).toBe(2 * HOUR - 1_200);
  });

  it('former runs say it until an attempt does', () => {
    const [unknown, known] = [{ formerStarts: [] }, { formerStarts: startsOf(lostOnce(240).attempts) }].map(
      (change) => situationOf(question(change)),
    );
    expect([unknown, known].map((each) => each?.work.restartSeconds)).toEqual([300, BILLED_START_SECONDS]);
    expect(known?.marginSeconds).toBe(900 + 240);
    const longer = startsOf(lostOnce(0).attempts).map((each) => ({ ...each, unprovenSeconds: 1_000 }));
    const own = lostOnce(0, { formerStarts: longer });
    expect(situationOf(own).work.restartSeconds).toBe(BILLED_START_SECONDS);
  });

  it('the end of a completed attempt is no part', () => {
    const [lost] = lostOnce(0).attempts;
    const after = (outcome: Partial<AttemptOutcome>) =>
      startsOf([
        {
          ...lost!,
          outcome: { ...lost!.outcome!, kind: 'completed', trainingSeconds: 2 * HOUR, ...outcome },
        },
      ])[0]?.unprovenSeconds;
    expect(after({ scriptStartedAt: hoursLater(1.01) })).toBe(300);
    expect(after({ scriptStartedAt: hoursLater(1.2) })).toBe(0.2 * HOUR);
    expect(after({ trainingSeconds: HOUR, scriptStartedAt: hoursLater(1.01) })).toBe(BILLED_START_SECONDS);
    expect(after({})).toBeUndefined();
  });

  it('a wait for capacity is no provisioning', () => {
    expect(situationOf(lostOnce(1_200)).marginSeconds).toBe(900);
  });

  it('provisioning brings the change to On-Demand forward', () => {
    const until = (provisioning: number) => secondsUntilUnsafe(situationOf(lostOnce(provisioning)));
    expect(until(0) - until(240)).toBeCloseTo(240);
    const now = hoursLater(3 + (until(0) - 120) / HOUR);
    const marketOf = (provisioning: number) => {
      const decision = choosePlacement(lostOnce(provisioning, { now }));
      return decision.kind === 'launch' ? decision.placement.pool.purchaseOption : decision.kind;
    };
    expect(marketOf(0)).toBe('spot');
    expect(marketOf(240)).toBe('on-demand');
  });
});

describe('of a wait for On-Demand', () => {
  const until = (onDemandWaits: readonly number[], change: Partial<PlacementInput> = {}) =>
    secondsUntilUnsafe(situationOf(question({ onDemandWaits, ...change })));

  it('former runs bring the latest safe moment forward', () => {
    expect(until([]) - until([0, 0])).toBe(0);
    expect(until([]) - until(Array.from({ length: 20 }, () => 2_400))).toBeCloseTo(2_400);
    const once = until([]) - until([2_400]);
    expect(once).toBeGreaterThan(600);
    expect(once).toBeLessThan(2_400);
  });

  it('the run itself learns, given up or not', () => {
    const waited = (kind: AttemptOutcome['kind'], seconds: number) => {
      const at = hoursLater(1 + seconds / HOUR);
      const moment = kind === 'capacity' ? { endedAt: at } : { startedAt: at, endedAt: at };
      const pool = poolOf('g6.xlarge', ZONES[0], 'on-demand');
      const ended = attempt(1, pool, { kind, ...moment }, { createdAt: hoursLater(1) });
      return situationOf(question({ attempts: [ended], now: hoursLater(4) })).onDemandWaits;
    };
    expect(waited('recalled', 2_400)).toEqual([0, 0, 2_400]);
    expect(waited('capacity', 7_200)).toEqual([0, 0, 7_200]);
    expect(waited('capacity', 20)).toEqual([]);
  });
});
