import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

type Parameters = Readonly<Record<string, string>>;
const parameters: {
  parse(given: readonly string[]): Parameters;
  problemsOf(given: Parameters): string[];
  withDefaults(given: Parameters): Parameters;
  combinationProblems(chosen: Parameters): string[];
  regionProblems(region: string): string[];
  arnProblems(chosen: Parameters, region: string): string[];
  effective(given: Parameters, stack: Parameters | undefined): Parameters;
  conflicts(chosen: Parameters, stack: Parameters | undefined, given: Parameters): string[];
} = createRequire(import.meta.url)('../../../serverless/parameters.cjs');

const problemsOf = (...given: string[]) => parameters.problemsOf(parameters.parse(given));

describe('parameters of a deployment', () => {
  it('are taken with their values', () => {
    expect(problemsOf('packers=6', 'images=yes', 'alarmEmail=a@b.org')).toEqual([]);
    expect(parameters.parse(['a=b=c'])).toEqual({ a: 'b=c' });
  });

  it('are known wherever the template names one', () => {
    const folder = 'serverless';
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const sources = files.filter((name) => /\.(ts|yml|cjs)$/.test(name)).map((name) => join(folder, name));
    const texts = [...sources, 'serverless.yml'].map((path) => readFileSync(path, 'utf8')).join('\n');
    const named = new Set([...texts.matchAll(/param:(\w+)/g)].map(([, name]) => String(name)));
    expect(named.size).toBeGreaterThan(2);
    const known = Object.keys(parameters.withDefaults({}));
    expect([...named].filter((name) => !known.includes(name))).toEqual([]);
  });

  it('are refused when misspelt', () => {
    expect(problemsOf('packer=6')).toEqual([expect.stringContaining('known are alarmEmail')]);
  });

  it.each([
    ['packers=0', '1 to 10000'],
    ['packers=10001', '1 to 10000'],
    ['images=maybe', 'yes or no'],
    ['alarmEmail=ops', 'e-mail'],
    ['alarmTopic=ops', 'ARN of an SNS topic'],
    ['kmsKey=alias/mine', 'ARN of a key'],
    ['marker=done.yaml', 'neither in .yaml'],
    ['marker=all done', 'letters, digits'],
    ['notify=all', 'objects or markers'],
    ['oidcIssuer=http://id.example.org', 'with https://'],
    ['oidcScopes=email', 'write openid'],
    ['unfinishedRuns=stop', 'docs/deploy.md'],
  ])('are refused with the remedy: %s', (given, remedy) => {
    expect(problemsOf(given)).toEqual([expect.stringContaining(remedy)]);
  });
});

describe('parameters together', () => {
  it.each([
    { alarmEmail: 'a@b.org', alarmTopic: 'arn:aws:sns:us-east-1:1:ops' },
    { bucket: 'lake', versioning: 'yes' },
  ])('are refused when they exclude each other: %o', (chosen) => {
    expect(parameters.combinationProblems(chosen)).toEqual([
      expect.stringContaining(Object.keys(chosen).join(' and ')),
    ]);
  });

  it('are taken when they fit', () => {
    const chosen = { bucket: 'lake', kmsKey: 'arn:aws:kms:us-east-1:1:key/a' };
    expect(parameters.combinationProblems(chosen)).toEqual([]);
  });
});

describe('an issuer of people’s tokens', () => {
  const oidcIssuer = 'https://id.example.org/';

  it('needs an audience, and claims that give a role', () => {
    const problemsWith = (more: Parameters) => parameters.combinationProblems({ oidcIssuer, ...more });
    expect(problemsWith({})).toEqual([
      expect.stringContaining('needs oidcAudience and oidcOperators or oidcViewers'),
    ]);
    expect(problemsWith({ oidcAudience: 'a' })).toEqual([expect.stringContaining('needs oidcOperators or')]);
    expect(problemsWith({ oidcAudience: 'a', oidcViewers: 'groups=ml' })).toEqual([]);
    expect(parameters.combinationProblems({ oidcAudience: 'a' })).toEqual([
      expect.stringContaining('need oidcIssuer'),
    ]);
  });

  it.each(['groups', 'groups=', '=ml', 'groups=a b', 'groups=[ml]', 'groups=a,', 'groups==ml'])(
    'gives no role by %j',
    (claims) => {
      expect(problemsOf(`oidcOperators=${claims}`)).toEqual([expect.stringContaining('claim=value')]);
    },
  );

  it.each(['cognito:groups=ml-operators', 'https://example.org/roles=ops, email=ada@example.org'])(
    'gives a role by %j',
    (claims) => {
      expect(problemsOf(`oidcOperators=${claims}`)).toEqual([]);
    },
  );
});

describe('a region', () => {
  it('is refused in another partition', () => {
    for (const region of ['us-east-1', 'eu-central-1', 'ap-south-2'])
      expect(parameters.regionProblems(region)).toEqual([]);
    for (const region of [
      'cn-north-1',
      'us-gov-west-1',
      'us-iso-east-1',
      'us-isof-south-1',
      'eusc-de-east-1',
    ])
      expect(parameters.regionProblems(region)).toHaveLength(1);
  });
});

describe('an ARN', () => {
  it.each(['kmsKey', 'alarmTopic'])('of %s is refused in another region', (name) => {
    const chosen = { [name]: 'arn:aws:service:eu-west-1:123456789012:name' };
    expect(parameters.arnProblems(chosen, 'eu-west-1')).toEqual([]);
    expect(parameters.arnProblems(chosen, 'us-east-1')).toEqual([expect.stringContaining('is of eu-west-1')]);
    expect(parameters.arnProblems({}, 'us-east-1')).toEqual([]);
  });
});

describe('parameters that the stack remembers', () => {
  const stack = { packers: '6', packageIndexSecret: 'arn:aws:secretsmanager:us-east-1:1:secret:pip' };

  it('hold until others are given', () => {
    expect(parameters.effective({ packers: '9' }, stack)).toEqual({ ...stack, packers: '9' });
    expect(parameters.effective({ images: 'yes' }, undefined)).toEqual({ images: 'yes' });
  });

  it('are forgotten by name', () => {
    expect(parameters.effective({ forget: 'packers' }, stack)).toEqual({
      packageIndexSecret: stack.packageIndexSecret,
    });
  });

  it('are demanded of a package made elsewhere', () => {
    expect(parameters.conflicts({ packers: '6' }, stack, {})).toEqual([
      expect.stringContaining('without --param="packageIndexSecret=arn:'),
    ]);
    expect(parameters.conflicts({ packers: '6' }, stack, { forget: 'packageIndexSecret' })).toEqual([]);
    expect(parameters.conflicts(stack, stack, {})).toEqual([]);
    expect(parameters.conflicts({}, undefined, {})).toEqual([]);
  });

  it("keep a stack's bucket and table", () => {
    expect(parameters.conflicts({ bucket: 'other' }, {}, {})).toEqual([
      expect.stringContaining('the bucket of a stack cannot change (its own to other)'),
    ]);
    expect(parameters.conflicts({}, { table: 'old' }, { forget: 'table' })).toHaveLength(1);
  });
});
