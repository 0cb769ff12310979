/** What becomes of a gang that loses hosts: the rules, and what follows from them however often and late they act. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeFleet } from '../../../../functions/launch/ec2/fleet-state.ts';
import {
  currentHosts,
  type FleetInstance,
  STOP_GRACE_SECONDS,
} from '../../../../functions/launch/ec2/fleet-view.ts';
import type { RoundState } from '../../../../functions/launch/ec2/host-requests.ts';
import { nextRefillStep, type RefillQuestion } from '../../../../functions/launch/ec2/refill.ts';
import type { HostReport } from '../../../../functions/launch/job/job-document.ts';

const MAXIMUM_ROUNDS = 6;
const REFILL_SECONDS = 900;
const at = (seconds: number): Date => new Date(1_790_000_000_000 + seconds * 1_000);
const host = (instanceId: string, over: Partial<FleetInstance> = {}): FleetInstance => ({
  instanceId,
  state: 'running',
  launchedAt: at(0),
  round: 1,
  ...over,
});
const said = (instanceId: string, over: Partial<HostReport> = {}): HostReport => ({
  instanceId,
  startedAt: at(60).toISOString(),
  seenAt: at(60).toISOString(),
  phase: 'script',
  scriptStartedAt: at(90).toISOString(),
  ...over,
});
const ask = (over: Partial<RefillQuestion> = {}): RefillQuestion => ({
  jobName: 'digits-000001-a1-abcdef',
  nodes: 3,
  managedSpot: true,
  priceRatio: 0.25,
  maximumRunSeconds: 36_000,
  refills: true,
  instances: ['i-1', 'i-2', 'i-3'].map((id) => host(id)),
  reports: ['i-1', 'i-2', 'i-3'].map((id) => said(id)),
  warned: [],
  now: at(1_000),
  ...over,
});
const second: RoundState = {
  round: {
    round: 2,
    openedAt: at(1_000).toISOString(),
    stay: ['i-1', 'i-3'],
    lost: ['i-2'],
    missing: 1,
    leftSeconds: 35_000,
  },
};
const lost2 = [host('i-1'), host('i-2', { state: 'terminated' }), host('i-3')];

describe('a whole gang', () => {
  it('needs nothing', () => {
    expect(nextRefillStep(ask())).toEqual({ kind: 'none' });
  });

  it('needs nothing when a host has ended by itself', () => {
    const reports = [said('i-1', { endedAt: at(900).toISOString(), exitCode: 1 }), said('i-2'), said('i-3')];
    const instances = [host('i-1', { state: 'terminated' }), host('i-2'), host('i-3')];
    expect(nextRefillStep(ask({ instances, reports }))).toEqual({ kind: 'none' });
  });
});

describe('a lost host', () => {
  it.each([
    ['that EC2 has announced to take', { warned: ['i-2'] }],
    ['that EC2 has ended', { instances: lost2 }],
    [
      'that saw its notice itself',
      {
        reports: [
          said('i-1'),
          said('i-2', { stoppedBy: 'spot', endedAt: at(999).toISOString() }),
          said('i-3'),
        ],
      },
    ],
  ])('%s opens a round with the others', (_, over) => {
    expect(nextRefillStep(ask(over))).toMatchObject({
      kind: 'open',
      round: { round: 2, stay: ['i-1', 'i-3'], lost: ['i-2'], missing: 1, leftSeconds: 35_060 },
    });
  });

  it.each([
    ['a strategy that does not allow it', { refills: false, instances: lost2 }, 'cannot replace'],
    ['no other host', { warned: ['i-1', 'i-2', 'i-3'] }, 'no host is left'],
    ['no time', { instances: lost2, maximumRunSeconds: 940 }, 'time is over'],
    [
      'a host that has ended',
      {
        instances: lost2,
        reports: [said('i-1', { endedAt: at(900).toISOString(), exitCode: 0 }), said('i-2'), said('i-3')],
      },
      'i-1 had ended',
    ],
  ])('cannot be replaced with %s', (_, over, why) => {
    expect(nextRefillStep(ask(over))).toEqual({ kind: 'impossible', why: expect.stringContaining(why) });
  });

  it('is left to the requested end', () => {
    expect(nextRefillStep(ask({ instances: lost2, stopRequestedAt: at(990) }))).toEqual({ kind: 'none' });
  });
});

describe('an open round', () => {
  it('asks for the missing hosts first', () => {
    expect(nextRefillStep(ask({ instances: lost2, rounds: second }))).toMatchObject({ kind: 'launch' });
  });

  it("waits for the lost host's save, then ends it", () => {
    const fresh = host('i-4', { state: 'pending', round: 2 });
    const instances = [host('i-1'), host('i-2'), host('i-3'), fresh];
    const question = ask({ instances, rounds: second });
    expect(nextRefillStep(question)).toMatchObject({ kind: 'wait' });
    const later = at(1_000 + STOP_GRACE_SECONDS + 1);
    expect(nextRefillStep({ ...question, now: later })).toMatchObject({ kind: 'end', instanceIds: ['i-2'] });
    const reports = [
      ...question.reports,
      said('i-2', { endedAt: at(1_100).toISOString(), stoppedBy: 'spot' }),
    ];
    expect(nextRefillStep({ ...question, reports: reports.slice(-1) })).toMatchObject({ kind: 'begin' });
  });

  it('begins with remaining and new hosts only', () => {
    const instances = [...lost2, host('i-4', { round: 2 }), host('i-0', { round: 2, launchedAt: at(2_000) })];
    expect(nextRefillStep(ask({ instances, rounds: second }))).toMatchObject({
      kind: 'begin',
      members: ['i-1', 'i-3', 'i-4'],
    });
  });

  it('that loses another host is followed by the next', () => {
    const instances = [...lost2, host('i-4', { round: 2 })];
    expect(nextRefillStep(ask({ instances, rounds: second, warned: ['i-3'] }))).toMatchObject({
      kind: 'open',
      round: { round: 3, stay: ['i-1', 'i-4'], lost: ['i-2', 'i-3'], missing: 1 },
    });
  });

  it('that does not begin in time is given up', () => {
    const members = ['i-1', 'i-3', 'i-4'];
    const instances = [...lost2, host('i-4', { round: 2 })];
    const now = at(1_000 + REFILL_SECONDS + 1);
    const stuck = ask({ instances, rounds: { ...second, members }, now });
    expect(nextRefillStep(stuck)).toMatchObject({ kind: 'impossible' });
    const reports = members.map((id) => said(id, { round: 2 }));
    expect(nextRefillStep({ ...stuck, reports })).toEqual({ kind: 'none' });
  });

  it('is the last of so many', () => {
    const round = { ...second.round, round: MAXIMUM_ROUNDS };
    const instances = [host('i-1'), host('i-3', { state: 'terminated' })];
    expect(nextRefillStep(ask({ instances, rounds: { round } }))).toMatchObject({ kind: 'impossible' });
  });
});

describe('the attempt', () => {
  it('is restarting during a refill, interrupted without one', () => {
    expect(describeFleet(ask({ instances: lost2 }))).toMatchObject({ SecondaryStatus: 'Restarting' });
    expect(describeFleet(ask({ instances: lost2, refills: false }))).toMatchObject({
      SecondaryStatus: 'Interrupted',
    });
  });

  it('completes with its last members and counts all hosts', () => {
    const members = ['i-1', 'i-3', 'i-4'];
    const reports = [
      said('i-2', { endedAt: at(1_060).toISOString(), stoppedBy: 'spot', exitCode: 143 }),
      ...members.map((id) => said(id, { round: 2, endedAt: at(2_060).toISOString(), exitCode: 0 })),
    ];
    const job = describeFleet(
      ask({ instances: [], reports, rounds: { ...second, members }, now: at(3_000) }),
    );
    expect(job).toMatchObject({ TrainingJobStatus: 'Completed' });
    expect(job?.SecondaryStatusTransitions.filter(({ Status }) => Status === 'Interrupted')).toHaveLength(1);
    // 2,000 s of each member and 1,000 s of the lost one, over three.
    expect(job?.TrainingTimeInSeconds).toBeCloseTo(7_000 / 3, 6);
  });
});

/** Losses in any order, looks in between or not: each round's gang is as large as it must be, and no host is in two. */
/** Two warnings in sequence: EC2 reclaims the replacement of the first host before it joins. */
describe('a gang that EC2 reclaims during a refill', () => {
  const third: RoundState = {
    round: { ...second.round, round: 3, stay: ['i-4'], lost: ['i-1', 'i-2', 'i-3'], missing: 2 },
  };
  const gone = host('i-4', { state: 'terminated', round: 2 });
  const saving = ['i-1', 'i-2', 'i-3'].map((id) => host(id));
  const noHost = (over: Partial<RefillQuestion> = {}): RefillQuestion =>
    ask({ rounds: third, instances: [...saving, gone], ...over });

  it('has not ended while its hosts still save', () => {
    expect(nextRefillStep(noHost())).toMatchObject({ kind: 'impossible' });
    expect(describeFleet(noHost())).toMatchObject({
      TrainingJobStatus: 'InProgress',
      SecondaryStatus: 'Interrupted',
    });
    expect(describeFleet(noHost({ stopRequestedAt: at(1_000) }))).toMatchObject({
      TrainingJobStatus: 'Stopping',
    });
  });

  it('has lost its capacity once they have left', () => {
    const left = at(1_030).toISOString();
    const reports = ['i-1', 'i-2', 'i-3'].map((id) =>
      said(id, { endedAt: left, exitCode: 143, stoppedBy: 'spot' }),
    );
    expect(describeFleet(noHost({ instances: [gone], reports }))).toMatchObject({
      TrainingJobStatus: 'Failed',
      FailureReason: expect.stringMatching(/^CapacityError: EC2 reclaimed/) as string,
    });
  });
});

it('never counts a lost host among those that train', () => {
  const losses = fc.array(fc.tuple(fc.nat(30), fc.boolean()), { maxLength: 12 });
  fc.assert(
    fc.property(losses, (order) => {
      let question = ask();
      const gone = new Set<string>();
      const wrong: string[] = [];
      const check = (what: string, hosts: readonly string[], count: number) => {
        if (hosts.some((id) => gone.has(id))) wrong.push(`${what} with a lost host: ${hosts.join(' ')}`);
        if (count !== question.nodes) wrong.push(`${what} of ${count} hosts`);
      };
      let made = 3;
      for (const [index, isWarned] of order) {
        const current = currentHosts(question);
        const victim = current[index % current.length];
        if (victim === undefined) break;
        gone.add(victim);
        const instances = question.instances.map((each) =>
          each.instanceId === victim && !isWarned ? { ...each, state: 'terminated' } : each,
        );
        question = { ...question, instances, warned: isWarned ? [victim] : [] };
        for (let steps = 0; steps < 10; steps += 1) {
          const step = nextRefillStep(question);
          if (step.kind === 'impossible' || step.kind === 'none') break;
          if (step.kind === 'open') {
            check('a round', step.round.stay, step.round.stay.length + step.round.missing);
            question = { ...question, rounds: { round: step.round } };
          } else if (step.kind === 'launch') {
            made += 1;
            const fresh = host(`i-${made}`, { round: step.round.round });
            question = { ...question, instances: [...question.instances, fresh] };
          } else if (step.kind === 'begin') {
            check('members', step.members, step.members.length);
            question = { ...question, rounds: { round: step.round, members: step.members } };
          } else {
            // A warned host goes in the end.
            const instances = question.instances.map((each) =>
              gone.has(each.instanceId) ? { ...each, state: 'terminated' } : each,
            );
            question = { ...question, instances };
          }
        }
      }
      expect(wrong).toEqual([]);
    }),
  );
});
