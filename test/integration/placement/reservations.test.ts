/** What an account has reserved, as the adapter reads it from the local EC2 and SageMaker, and a job on a plan. */
import { DescribeCapacityReservationsCommand, EC2Client } from '@aws-sdk/client-ec2';
import { SageMakerClient } from '@aws-sdk/client-sagemaker';
import { type LocalMarket, startLocalMarket } from '@tidewheel/emulators/spot-market/spot-market.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { offerSource } from '../../../functions/aws/market/offers.ts';
import { reservationSource } from '../../../functions/aws/market/reservations.ts';
import {
  clientConfiguration,
  startTestEmulator,
  TEST_KEY,
  type TestEmulator,
} from '../../support/emulator.ts';
import { type Ground, layGround } from '../../support/local-sagemaker.ts';

const HOUR = 3_600_000;
const now = Date.now();
const at = (hours: number) => new Date(now + hours * HOUR);
const iso = (hours: number) => at(hours).toISOString();
const arnOf = (name: string) => `arn:aws:sagemaker:us-east-1:000000000000:training-plan/${name}`;
const plan = (name: string, from: number, to: number) =>
  ({
    id: arnOf(name),
    kind: 'training-plan',
    instanceType: 'c5.xlarge',
    zoneId: 'use1-az1',
    instances: 1,
    startsAt: at(from),
    endsAt: at(to),
  }) as const;
const BLOCK = {
  id: 'cr-0123456789abcdef0',
  kind: 'capacity-block',
  instanceType: 'p5.48xlarge',
  zoneId: 'use1-az4',
  instances: 2,
  startsAt: at(5),
  endsAt: at(29),
  tags: { team: 'vision' },
} as const;
const OPEN = {
  ...BLOCK,
  id: 'cr-00000000000000001',
  kind: 'capacity-reservation',
  startsAt: at(-1),
} as const;

/** Made inside placement groups: of this account, and of another one that shares it. */
const GROUPED = { ...OPEN, id: 'cr-00000000000000002', placementGroup: 'team:ours', tags: {} } as const;
const THEIRS = {
  ...GROUPED,
  id: 'cr-00000000000000003',
  ownerId: '111122223333',
  placementGroup: 'theirs',
} as const;
const SHARED = { ...OPEN, id: 'cr-00000000000000004', ownerId: '111122223333', tags: {} } as const;

const OFFERED = { ...BLOCK, id: 'cb-1', startsAt: at(5), endsAt: at(29), upfrontUsd: 1_234.5 };
const PLAN_OFFERED = { ...OFFERED, id: 'tpo-1', kind: 'training-plan' } as const;

let emulator: TestEmulator;
let market: LocalMarket;
let ground: Ground;
let source: ReturnType<typeof reservationSource>;
let ask: ReturnType<typeof offerSource>;

beforeAll(async () => {
  emulator = await startTestEmulator();
  const { endsAt: _, ...open } = OPEN;
  market = await startLocalMarket({
    credentials: TEST_KEY,
    awsEndpointUrl: emulator.url,
    reservations: [
      BLOCK,
      { ...open, tags: {} },
      plan('team-a', -1, 3),
      // Its hosts are taken 15 s from here.
      plan('short', -1, 0.5 + (Date.now() - now + 15_000) / HOUR),
      plan('past', -9, -1),
      GROUPED,
      THEIRS,
      SHARED,
    ],
    offers: [OFFERED, { ...OFFERED, id: 'cb-2', upfrontUsd: 1_000, instances: 4 }, PLAN_OFFERED],
  });
  ground = await layGround(emulator.url, { market: market.market, reservations: market.reservations });
  const clients = {
    ec2: () => new EC2Client(clientConfiguration(market.url)),
    sageMaker: () => new SageMakerClient({ ...clientConfiguration(emulator.url), endpoint: ground.url }),
  };
  ask = offerSource(clients);
  source = reservationSource({
    ...clients,
    region: 'us-east-1',
    accountId: '000000000000',
  });
}, 120_000);

afterAll(async () => {
  await ground.close();
  await market.close();
  await emulator.stop();
});

describe('what a pipeline declares', () => {
  it('is described with its clock', async () => {
    expect(await source([BLOCK.id, OPEN.id, arnOf('team-a')])).toEqual({
      notes: [],
      reservations: [
        {
          id: BLOCK.id,
          kind: 'capacity-block',
          instanceType: 'p5.48xlarge',
          zoneId: 'use1-az4',
          instances: 2,
          availableInstances: 0,
          state: 'scheduled',
          windows: [{ startsAt: iso(5), endsAt: iso(29) }],
        },
        expect.objectContaining({ id: OPEN.id, state: 'active', windows: [{ startsAt: iso(-1) }] }),
        {
          id: arnOf('team-a'),
          kind: 'training-plan',
          instanceType: 'c5.xlarge',
          zoneId: 'use1-az1',
          instances: 1,
          availableInstances: 1,
          state: 'Active',
          windows: [{ startsAt: iso(-1), endsAt: iso(3) }],
        },
      ],
    });
  });

  it('is found by its tag alone', async () => {
    const { reservations } = await source([{ tag: { key: 'team', value: 'vision' } }]);
    expect(reservations).toEqual([expect.objectContaining({ id: BLOCK.id })]);
  });

  it('that the account has not is named', async () => {
    const away = arnOf('team-a').replace('us-east-1', 'eu-west-1');
    const { notes } = await source(['cr-0f0f0f0f0f0f0f0f0', arnOf('none'), away]);
    expect(notes).toEqual(
      ['cr-0f0f0f0f0f0f0f0f0', arnOf('none'), away].map(
        (each) =>
          `compute.reserved names ${each}, and this account has no such reservation in us-east-1: correct or remove it`,
      ),
    );
  });
});

describe('a reservation of EC2', () => {
  it('inside a placement group names it', async () => {
    const { reservations, notes } = await source([GROUPED.id]);
    expect(reservations).toEqual([expect.objectContaining({ id: GROUPED.id, placementGroup: 'team:ours' })]);
    expect(notes).toEqual([]);
  });

  it('that another account shares is as good', async () => {
    const { reservations, notes } = await source([SHARED.id]);
    expect(reservations).toEqual([expect.objectContaining({ id: SHARED.id, availableInstances: 2 })]);
    expect(notes).toEqual([]);
  });

  it('in a group of another account is refused', async () => {
    expect(await source([THEIRS.id])).toEqual({
      reservations: [],
      notes: [
        `${THEIRS.id} was made inside a placement group of account 111122223333, which hosts here cannot join: have one made outside a group, or remove it from compute.reserved`,
      ],
    });
  });
});

describe('what AWS offers', () => {
  const wanted = {
    instanceType: 'p5.48xlarge',
    instances: 2,
    hours: 24,
    endsBefore: at(40),
  };
  const offered = {
    instanceType: 'p5.48xlarge',
    zone: 'us-east-1d',
    instances: 2,
    upfrontUsd: 1_234.5,
    windows: [{ startsAt: iso(5), endsAt: iso(29) }],
  };

  it.each([
    ['capacity-block', 'cb-1'],
    ['training-plan', 'tpo-1'],
  ] as const)('is read with its price: a %s', async (kind, id) => {
    expect(await ask({ ...wanted, kind })).toEqual({
      kind: 'known',
      notes: [],
      value: [{ ...offered, id, kind }],
    });
  });

  it.each([
    ['another length', { hours: 48 }],
    ['another size', { instances: 1 }],
    ['an earlier end', { endsBefore: at(28) }],
    ['a family without offers', { instanceType: 'c5.xlarge', kind: 'training-plan' }],
  ] as const)('is nothing for %s', async (_, change) => {
    expect(await ask({ ...wanted, kind: 'capacity-block', ...change })).toEqual({
      kind: 'known',
      notes: [],
      value: [],
    });
  });

  it.each([
    ['the type', { kind: 'training-plan', instanceType: 'p9.large' }, /^ValidationException/],
    ['the size', { kind: 'capacity-block', instances: 65 }, /^InvalidParameterValue/],
  ] as const)('is unknown where AWS refuses %s', async (_, change, message) => {
    const answer = await ask({ ...wanted, ...change });
    expect(answer).toMatchObject({ kind: 'unknown', message: expect.stringMatching(message) });
  });
});

it('an unknown id is refused as EC2 does', async () => {
  const ec2 = new EC2Client(clientConfiguration(market.url));
  await expect(
    ec2.send(new DescribeCapacityReservationsCommand({ CapacityReservationIds: ['cr-0f0f0f0f0f0f0f0f0'] })),
  ).rejects.toMatchObject({ name: 'InvalidCapacityReservationId.NotFound' });
});

describe('a training job', () => {
  const on = (name: string) => ({
    script: 'import time\nwhile True: time.sleep(0.1)\n',
    EnableManagedSpotTraining: false,
    ResourceConfig: {
      InstanceType: 'ml.c5.xlarge' as const,
      InstanceCount: 1,
      VolumeSizeInGB: 1,
      TrainingPlanArn: arnOf(name),
    },
  });

  it('loses its hosts half an hour before the end', async () => {
    const job = await ground.create(on('short'));
    const lost = await ground.until(job, ({ SecondaryStatusTransitions: all = [] }) =>
      all.some(({ Status }) => Status === 'Interrupted'),
    );
    expect(lost.TrainingJobStatus).toBe('InProgress');
  });

  it('uses up its plan, and the next one waits', async () => {
    const first = await ground.create(on('team-a'));
    await ground.until(first, ({ SecondaryStatus }) => SecondaryStatus === 'Training');
    const { reservations } = market;
    const used = reservations.all.filter(({ id }) => id === arnOf('team-a'));
    expect(used.map((each) => reservations.free(each))).toEqual([0]);
    const second = await ground.create(on('team-a'));
    const waiting = await ground.until(
      second,
      ({ SecondaryStatusTransitions: all = [] }) =>
        all.at(-1)?.StatusMessage?.includes('Insufficient') === true,
    );
    expect(waiting.TrainingJobStatus).toBe('InProgress');
  });
});
