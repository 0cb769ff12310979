/** A deployment whose policies IAM would not take ends before anything is deployed. */
import { createRequire } from 'node:module';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Packaged, packaged, type Template } from '../packaged.ts';
import { deployedWith, type Parameters } from './deployed.ts';

const load = createRequire(import.meta.url);
interface Sizing {
  readonly policyProblems: (
    template: Template,
    place: { readonly stackName: string; readonly region: string },
  ) => readonly string[];
}
interface Shaping {
  readonly shapeTemplate: (template: Template, parameters: unknown) => Template;
}
interface Defaults {
  readonly withDefaults: (given: Parameters) => unknown;
}
const { policyProblems } = load('../../../serverless/policy-size.cjs') as Sizing;
const { shapeTemplate } = load('../../../serverless/shape-template.cjs') as Shaping;
const { withDefaults } = load('../../../serverless/parameters.cjs') as Defaults;

let made: Packaged;
beforeAll(async () => {
  made = await packaged();
}, 300_000);

const several = (count: number, nameOf: (number: number) => string): string =>
  Array.from({ length: count }, (_, index) => nameOf(index)).join(',');
const subnets = (count: number) => several(count, (each) => `subnet-${`${each}`.padStart(17, '0')}`);
const securityGroups = (count: number) => several(count, (each) => `sg-${`${each}`.padStart(17, '0')}`);

async function problemsOf(parameters: Parameters): Promise<readonly string[]> {
  const template = shapeTemplate(await deployedWith(made.template, parameters), withDefaults(parameters));
  return policyProblems(template, { stackName: 'tidewheel-production', region: 'ap-southeast-2' });
}

describe('the policies of a deployment', () => {
  it('fit without parameters', async () => {
    expect(await problemsOf({})).toEqual([]);
  });

  // docs/deploy.md names both numbers of subnets.
  it('fit with 13 subnets and one group', async () => {
    const securityGroup = securityGroups(1);
    expect(await problemsOf({ subnets: subnets(13), securityGroups: securityGroup })).toEqual([]);
    expect(await problemsOf({ subnets: subnets(14), securityGroups: securityGroup })).toHaveLength(1);
  });

  it('fit with eight subnets, a key and long names', async () => {
    const parameters = {
      subnets: subnets(8),
      securityGroups: securityGroups(2),
      kmsKey: 'arn:aws:kms:ap-southeast-2:123456789012:key/0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f',
      bucket: `data-${'x'.repeat(58)}`,
    };
    expect(await problemsOf(parameters)).toEqual([]);
  });

  it('are refused when lists are too long', async () => {
    const problems = await problemsOf({ subnets: subnets(40), securityGroups: securityGroups(1) });
    expect(problems).toEqual([
      expect.stringMatching(/^LaunchRole would have \d+ characters, and IAM takes 10240: name fewer subnets/),
      expect.stringMatching(/^TrainingPolicy would have \d+ characters, and IAM takes 6144: name fewer/),
    ]);
    expect(await problemsOf({ subnets: '*', securityGroups: '*' })).toEqual([]);
  });
});
