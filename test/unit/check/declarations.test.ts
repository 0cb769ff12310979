/** The check judges declarations by the parameters that the stack remembers, as runs do. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import { deploymentOf, readDeclarations } from '../../../functions/check/declarations.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';

const BUCKET = 'tw-data';
const stateMachineArn = 'arn:aws:states:us-east-1:123456789012:stateMachine:tidewheel-dev-run';
const DECLARATION = `
name: digits
training: { strategy: single }
compute:
  instanceTypes: [g5.xlarge]
  vpc: { subnets: [{ id: subnet-1, zoneId: use1-az4 }], securityGroupIds: [sg-1] }
`;

async function declaredIn(parameters: Readonly<Record<string, string>> | undefined, text = DECLARATION) {
  const outputs = new Map(
    parameters === undefined ? [] : [['Parameters', JSON.stringify(parameters)] as const],
  );
  const store = memoryObjectStore(fakeClock(), BUCKET);
  store.put(bucketKeys.pipeline('digits'), text);
  const { pipelines, invalid } = await readDeclarations(
    store,
    deploymentOf({ outputs }, { bucket: BUCKET, stateMachineArn }),
  );
  return {
    valid: pipelines.map(({ name }) => name),
    problems: invalid.flatMap(({ problems }) => problems.map(({ path, message }) => `${path}: ${message}`)),
  };
}

describe('a declared network', () => {
  it.each([[undefined], [{}], [{ subnets: 'subnet-2', securityGroups: 'sg-1' }]])(
    'is refused where the stack has %j',
    async (parameters) => {
      const { valid, problems } = await declaredIn(parameters);
      expect(valid).toEqual([]);
      expect(problems.join()).toContain('compute.vpc.subnets[0].id: "subnet-1" is not allowed');
    },
  );

  it.each([
    [{ subnets: 'subnet-2, subnet-1', securityGroups: 'sg-1' }],
    [{ subnets: '*', securityGroups: '*' }],
  ])('is valid where the stack has %j', async (parameters) => {
    expect(await declaredIn(parameters)).toEqual({ valid: ['digits'], problems: [] });
  });
});

const image = (account: string) =>
  `name: digits\ntraining: { strategy: single, image: "${account}.dkr.ecr.us-east-1.amazonaws.com/own:1" }\ncompute: { instanceTypes: [g5.xlarge] }\n`;

describe('a declared image', () => {
  it('may be of the account that holds the stack', async () => {
    expect((await declaredIn({}, image('123456789012'))).valid).toEqual(['digits']);
    expect((await declaredIn({}, image('999999999999'))).problems.join()).toContain('imageAccounts=');
  });
});

it('has the packers of its parameters', () => {
  const packersOf = (parameters: Readonly<Record<string, string>>) =>
    deploymentOf(
      { outputs: new Map([['Parameters', JSON.stringify(parameters)]]) },
      { bucket: BUCKET, stateMachineArn },
    ).packers;
  expect(packersOf({ packers: '6' })).toBe(6);
  expect(packersOf({})).toBeUndefined();
});

describe('a stack that is notified of markers alone', () => {
  const bare = 'name: digits\ntraining: { strategy: single }\ncompute: { instanceTypes: [g5.xlarge] }\n';

  it('refuses a declaration that nothing would start', async () => {
    expect((await declaredIn({ notify: 'markers' }, bare)).problems.join()).toContain('_SUCCESS');
    expect((await declaredIn({ notify: 'markers', marker: 'DONE' }, bare)).problems.join()).toContain('DONE');
    expect((await declaredIn({}, bare)).valid).toEqual(['digits']);
  });
});

it('refuses a schedule that had no date to come', async () => {
  const scheduled = (year: number) =>
    `name: digits\ntraining: { strategy: single }\ncompute: { instanceTypes: [g5.xlarge] }\nschedule: cron(0 3 * * ? ${year})\n`;
  const year = fakeClock().now().getUTCFullYear();
  expect((await declaredIn({}, scheduled(year - 1))).problems.join()).toContain('schedule: is "cron(0 3');
  expect((await declaredIn({}, scheduled(year))).valid).toEqual(['digits']);
});
