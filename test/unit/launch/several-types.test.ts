/** A request of several types, then of one of them. */
import { describe, expect, it } from 'vitest';
import type { CreateOutcome } from '../../../functions/launch/job/training-service.ts';
import { makeSageMakerStarter } from '../../../functions/launch/sagemaker/sagemaker-launcher.ts';
import { declaration, launch, placement } from '../../support/builders/launch.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { scriptedTraining } from '../../support/fakes/training.ts';

const input = launch({
  declaration: declaration({ compute: { instanceTypes: ['g5.xlarge', 'g6.xlarge'] } }),
  placement: placement({
    pool: { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'on-demand' },
    maximumWaitSeconds: undefined,
    alternatives: [{ instanceType: 'g6.xlarge', onDemandHourlyUsd: 1 }],
  }),
});

/** The requests' types, each of them refused where it has several, and the outcome. */
async function startedUnder(age: 'new' | 'known', refusal: CreateOutcome) {
  const requested: (readonly string[])[] = [];
  const training = scriptedTraining(
    fakeClock(),
    () => [],
    ({ ResourceConfig: { InstanceType, InstancePreferences } }) => {
      requested.push(InstancePreferences?.flatMap((each) => each.InstanceType ?? []) ?? [InstanceType ?? '']);
      return InstanceType === undefined ? refusal : undefined;
    },
  );
  const role = { arnOf: () => 'arn:aws:iam::123456789012:role/digits', ensure: async () => age };
  const prepared = makeSageMakerStarter({ training }, role).prepare(input);
  if (prepared.kind !== 'prepared') throw new Error(JSON.stringify(prepared));
  return { outcome: await prepared.start(), requested };
}

describe('several types that SageMaker refuses', () => {
  const refusal = { kind: 'invalid', message: 'Could not assume role' } as const;
  const SEVERAL = ['ml.g5.xlarge', 'ml.g6.xlarge'];

  it('are requested again while their role is new', async () => {
    const { outcome, requested } = await startedUnder('new', refusal);
    expect(outcome).toMatchObject({ kind: 'throttled', message: expect.stringContaining(refusal.message) });
    expect(requested).toEqual([SEVERAL]);
  });

  it('give way to one under a known role', async () => {
    const { outcome, requested } = await startedUnder('known', refusal);
    expect(outcome).toMatchObject({ kind: 'created', alone: refusal.message });
    expect(requested).toEqual([SEVERAL, ['ml.g5.xlarge']]);
  });
});
