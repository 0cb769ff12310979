/** A declaration is text from outside: all of its problems are named at once, none of them harms. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Declaration, pipelineJsonSchema, readDeclaration } from '../schema/declaration.ts';
import { TRAINING_TYPES } from '../types/training-types.ts';

const GOOD = `
name: digits
training: { strategy: ddp }
compute: { instanceTypes: [g5.xlarge] }
`;

const problemsOf = (declaration: Declaration): Record<string, string> =>
  declaration.valid
    ? {}
    : Object.fromEntries(declaration.problems.map(({ path, message }) => [path, message]));
const pathsOf = (declaration: Declaration) => Object.keys(problemsOf(declaration));

describe('a declaration that is right', () => {
  it('is accepted in YAML and JSON, with defaults', () => {
    const json = '{"name":"digits","training":{"strategy":"ddp"},"compute":{"instanceTypes":["g5.xlarge"]}}';
    const fromYaml = readDeclaration('digits', GOOD);
    expect(fromYaml).toEqual(readDeclaration('digits', json));
    expect(fromYaml).toMatchObject({
      valid: true,
      pipeline: { settle: { quietSeconds: 60, maximumWaitSeconds: 3_600 }, limits: { attempts: 50 } },
    });
  });
});

describe('a declaration that is wrong', () => {
  it('has all problems named at once', () => {
    const text = `
name: digits
settle: { quietSeconds: 0, quiet: 5 }
training: { strategy: tpu, entryPoint: ../../etc/passwd.py, hyperparameters: { '1st': 1, ok: [1] } }
compute: { instanceTypes: [g5.xlarge, ml_g5], nodes: many, vpc: { securityGroupIds: [], subnets: [] } }
limits: { deadlineHours: -1 }
colour: blue
`;
    expect(pathsOf(readDeclaration('digits', text)).sort()).toEqual(
      [
        '',
        'compute.instanceTypes[1]',
        'compute.nodes',
        'compute.vpc.securityGroupIds',
        'compute.vpc.subnets',
        'limits.deadlineHours',
        'settle',
        'settle.quietSeconds',
        'training.entryPoint',
        'training.hyperparameters.1st',
        'training.hyperparameters.ok',
        'training.strategy',
      ].sort(),
    );
  });

  it('keeps names that objects have themselves', () => {
    const text = `
name: digits
training:
  strategy: ddp
  hyperparameters: { __proto__: 1, constructor: 2 }
  channels: { __proto__: { s3: s3://other/data/ } }
compute: { instanceTypes: [g5.xlarge], __proto__: 1 }
`;
    expect(pathsOf(readDeclaration('digits', text))).toEqual([
      'training.hyperparameters.__proto__',
      'training.channels.__proto__',
      'compute',
    ]);
    const kept = readDeclaration('digits', GOOD.replace('ddp', 'ddp, hyperparameters: { constructor: 2 }'));
    expect(kept.valid && Object.entries(kept.pipeline.training.hyperparameters)).toEqual([
      ['constructor', 2],
    ]);
  });

  it('names each value and its remedy', () => {
    const text = `
name: Digits 2
settle: { quietSeconds: 0, quiet: 5 }
packing: { format: zip, accept: [png] }
training: { strategy: dpp, frameworkVersion: latest, image: '', hyperparameters: { '1st': 1, ok: [1], tidewheel_spot: 1, token: "a\\nb" } }
compute: { instanceTypes: [${TRAINING_TYPES.slice(0, 31)
      .map((name) => name.slice('ml.'.length))
      .join(', ')}], nodes: 1.5 }
limits: { deadlineHours: }
tuning: { settle: { maximumWaitSeconds: soon } }
`;
    expect(problemsOf(readDeclaration('Digits 2', text))).toEqual({
      name: 'is "Digits 2", use 1 to 32 of a-z, 0-9 and inner hyphens',
      'settle.quietSeconds': 'is 0, give at least 1',
      settle: 'has no field "quiet": did you mean quietSeconds?',
      'packing.format':
        'is "zip", give one of webdataset, tfrecord, recordio, mds, parquet, lines, records, none',
      'packing.accept[0]': 'is "png", write suffixes as .png',
      'training.strategy':
        'is "dpp", give one of single, ddp, ray, mpi, parameter-server, multi-worker-mirrored, data-service',
      'training.frameworkVersion': 'is "latest", write a version such as 2.13 or 3.0-5',
      'training.image': 'is "", name an image, of at most 255 characters and without spaces',
      'training.hyperparameters.1st': 'is no name to give here: start with a letter',
      'training.hyperparameters.tidewheel_spot':
        'is no name to give here: sagemaker_ and tidewheel_ begin names of the service, choose another',
      'training.hyperparameters.ok': 'is a list, give a text, or give a number, or give true or false',
      'training.hyperparameters.token': 'a hyperparameter holds no newline',
      'compute.instanceTypes': 'has 31 entries, give at most 30',
      'compute.nodes': 'is 1.5, give a whole number',
      'limits.deadlineHours': 'is empty, give a number',
      'tuning.settle.maximumWaitSeconds': 'is "soon", give a number',
    });
    expect(problemsOf(readDeclaration('digits', 'name: digits'))).toEqual({
      training: 'is missing, give its fields',
      compute: 'is missing, give its fields',
    });
  });

  it.each(['sagemaker', 'ec2'])('has data served by helpers and names none: %s', (launcher) => {
    const served = GOOD.replace('ddp', 'data-service').replace('] }', `], launcher: ${launcher} }`);
    expect(problemsOf(readDeclaration('digits', served))).toMatchObject({
      'compute.helpers': expect.stringContaining('which SageMaker alone launches'),
    });
  });

  it('names cross-field problems beside single ones', () => {
    const text = `
name: digits
packing: { format: webdatset, label: namePattern, annotations: { file: labels.csv } }
training: { strategy: data-service, entryPoint: train }
compute: { nodes: many, purchaseOption: spott, launcher: ec2 }
tuning: { compute: { mayAddHelpers: {} }, limits: { attempts: 0 } }
`;
    expect(pathsOf(readDeclaration('digits', text)).sort()).toEqual(
      [
        'compute.ec2',
        'compute.helpers',
        'compute.instanceTypes',
        'compute.purchaseOption',
        'compute.nodes',
        'compute.vpc',
        'packing.format',
        'packing.label',
        'packing.labelPattern',
        'training.entryPoint',
        'tuning.compute.mayAddHelpers',
        'tuning.limits.attempts',
      ].sort(),
    );
  });

  it('declares what EC2 hosts need', () => {
    const hosts = GOOD.replace('] }', '], launcher: ec2 }');
    expect(problemsOf(readDeclaration('digits', hosts))).toEqual({
      'compute.ec2': 'is needed with launcher: ec2, name the image of its hosts',
      'compute.vpc': 'is needed with launcher: ec2, name subnets and securityGroupIds',
    });
  });

  it.each([
    [
      '',
      {
        'compute.launcher': expect.stringMatching(
          /declare compute\.ec2 .* and compute\.vpc .*, or leave it out/,
        ),
      },
    ],
    [
      'ec2: { image: ami-0123456789abcdef0 }, ',
      { 'compute.vpc': 'is needed with launcher: cheapest, name subnets and securityGroupIds' },
    ],
  ])('declares what cheapest is to compare: %j', (given, problems) => {
    const text = GOOD.replace('] }', `], ${given}launcher: cheapest }`);
    expect(problemsOf(readDeclaration('digits', text))).toEqual(problems);
  });

  it('has helpers that no launcher of it could launch', () => {
    const compute =
      'launcher: ec2, ec2: { image: ami-0123456789abcdef0 }, helpers: [{ name: cpus, instanceType: c5.xlarge, nodes: 1 }], vpc: { securityGroupIds: [sg-1], subnets: [{ id: subnet-1, zoneId: use1-az1 }] } }';
    const declared = readDeclaration('digits', GOOD.replace('] }', `], ${compute}`));
    expect(pathsOf(declared)).toEqual(['compute.helpers']);
  });

  it('is refused under another name than its key', () => {
    const problems = problemsOf(readDeclaration('letters', `${GOOD}limits: { budgetUsd: 0 }`));
    expect(problems['name']).toContain('"digits"');
    expect(problems['name']).toContain('"letters"');
    expect(problems['limits.budgetUsd']).toBeDefined();
  });

  it.each(['pipelines', 'agent', 'Digits', 'a_b', '-a', 'a-', 'x'.repeat(33), ''])(
    'is refused for the name %j',
    (name) => {
      const text = GOOD.replace('digits', JSON.stringify(name));
      expect(pathsOf(readDeclaration(name, text))).toEqual(['name']);
    },
  );

  it('is refused for its schedule, before AWS would', () => {
    expect(pathsOf(readDeclaration('digits', `${GOOD}schedule: rate(0 days)`))).toEqual(['schedule']);
    expect(readDeclaration('digits', `${GOOD}schedule: rate(1 day)`).valid).toBe(true);
  });

  it.each([
    ['', 'nothing'],
    ['just words', 'a text'],
    ['- a\n- b', 'a list'],
    ['42', 'a number'],
    ['null', 'null'],
  ])('is refused when it is %j (%s)', (text) => {
    expect(pathsOf(readDeclaration('digits', text))).toEqual(['']);
  });

  it('says where the YAML breaks', () => {
    const problems = readDeclaration('digits', 'name: [digits\ntraining: {');
    expect(problems).toMatchObject({ valid: false });
    expect(JSON.stringify(problems)).toMatch(/is not YAML: .*line 2/);
  });

  it('is refused for a key that is there twice', () => {
    expect(JSON.stringify(readDeclaration('digits', `${GOOD}name: letters`))).toContain('is not YAML');
  });
});

describe('an instance type', () => {
  const typesIn = (types: string, more = '') =>
    problemsOf(readDeclaration('digits', GOOD.replace('[g5.xlarge]', `[${types}]${more}`)));

  it('is refused with the nearest one', () => {
    expect(
      typesIn('c55.xlarge, g5.xlarge, foo.bar, p4d.24xlarg, ml.g5.xlarge, m7a.xlarge, g5.xlarge'),
    ).toEqual({
      'compute.instanceTypes[0]': 'is "c55.xlarge", EC2 has no such type: did you mean c5.xlarge?',
      'compute.instanceTypes[2]': 'is "foo.bar", EC2 has no such type',
      'compute.instanceTypes[3]': 'is "p4d.24xlarg", EC2 has no such type: did you mean p4d.24xlarge?',
      'compute.instanceTypes[4]': 'is "ml.g5.xlarge", write EC2 names such as g5.xlarge',
      'compute.instanceTypes[5]': 'is "m7a.xlarge", SageMaker does not train on it: did you mean m7i.xlarge?',
      'compute.instanceTypes[6]': 'is "g5.xlarge", it is there twice: take one out',
    });
  });

  it.each(['c9i.xlarge', 'p6-b400.48xlarge', 'g8.2xlarge', 'trn3.48xlarge'])(
    'of a later generation is left to AWS: %s',
    (type) => {
      expect(typesIn(type)).toEqual({});
    },
  );

  // A size that there is none of, a generation before, one far ahead, another kind.
  it.each(['c9i.3xlarg', 'g4.xlarge', 'p5-b100.48xlarge', 'c55.xlarge', 'gg7.xlarge', 'g5.7xlarge'])(
    'with a slip is refused: %s',
    (type) => {
      expect(Object.keys(typesIn(type))).toEqual(['compute.instanceTypes[0]']);
    },
  );

  it('may be one of EC2 alone with launcher ec2', () => {
    const problems = typesIn('m7a.xlarge, c55.xlarge', ', launcher: ec2');
    expect(Object.keys(problems).sort()).toEqual(['compute.ec2', 'compute.instanceTypes[1]', 'compute.vpc']);
  });

  it('of helpers is one that SageMaker trains on', () => {
    const helpers = ', helpers: [{ name: cpus, instanceType: m7a.xlarge, nodes: 1 }]';
    expect(typesIn('g5.xlarge', helpers)['compute.helpers[0].instanceType']).toContain('SageMaker does not');
    const added = ' }\ntuning: { compute: { mayAddHelpers: { instanceTypes: [c5.xlarg] } }';
    expect(JSON.stringify(typesIn('g5.xlarge', added))).toContain('c5.xlarge?');
  });
});

it('a mistyped reservation is refused with the remedy', () => {
  const declared = GOOD.replace('[g5.xlarge]', '[g5.xlarge], reserved: [cr-XYZ, 1]');
  const problems = problemsOf(readDeclaration('digits', declared));
  for (const index of [0, 1])
    expect(problems[`compute.reserved[${index}]`]).toContain('write the id of a Capacity Reservation (cr-…)');
});

describe('a source', () => {
  const problemOf = (source: string) =>
    problemsOf(readDeclaration('digits', GOOD.replace('ddp', `ddp, source: '${source}'`)))['training.source'];

  it.each(['source/', 'code/v2/', 's3://bucket/prefix/', 's3://bucket/a/b/'])('may be %s', (source) => {
    expect(problemOf(source)).toBeUndefined();
  });

  it.each(['../../wine/source/', '/etc/', './source/', 'a//b/', 'a/../../b/', 's3://bucket/a/../b/'])(
    'is refused outside its folder: %s',
    (source) => {
      expect(problemOf(source)).toContain("below the pipeline's own folder, such as source/");
    },
  );
});

describe('a number', () => {
  const withParameters = (text: string) =>
    readDeclaration('digits', GOOD.replace('ddp', `ddp, hyperparameters: { ${text} }`));

  it('is refused when a double cannot hold it', () => {
    const text =
      'seed: 123456789012345678901234567890, id: 9007199254740993, big: 9007199254740992, hexadecimal: 0x1fffffffffffff1, octal: 0o7777777777777777777';
    const tooLong = (digits: number) =>
      `has ${digits} digits, more than a number holds: put it in quotes to pass it as text`;
    expect(problemsOf(withParameters(text))).toEqual({
      'training.hyperparameters.seed': tooLong(30),
      'training.hyperparameters.id': tooLong(16),
      'training.hyperparameters.hexadecimal': tooLong(15),
      'training.hyperparameters.octal': tooLong(19),
    });
  });

  it('is named by its place in a list', () => {
    const text = GOOD.replace('[g5.xlarge]', '[g5.xlarge, 123456789012345678901]');
    expect(pathsOf(readDeclaration('digits', text))).toContain('compute.instanceTypes[1]');
  });

  it('is refused beyond all doubles', () => {
    expect(pathsOf(withParameters(`huge: ${'9'.repeat(400)}`))).toContain('training.hyperparameters.huge');
  });

  it('may be in scientific notation, another base or quotes', () => {
    const text =
      'rate: 1e30, small: 1e-9, big: 1e200, a: 0xff, b: 0o755, c: 0x20000000000000, id: "9007199254740993"';
    expect(withParameters(text)).toMatchObject({
      valid: true,
      pipeline: { training: { hyperparameters: { big: { number: '1e200' }, id: '9007199254740993' } } },
    });
  });
});

describe('anchors', () => {
  it('may stand in fields that begin with x-', () => {
    const text = `x-types: &types [g5.xlarge, g6.xlarge]
x-limits: &limits { deadlineHours: 3 }
name: digits
training: { strategy: ddp }
compute: { instanceTypes: *types }
limits: { <<: *limits, budgetUsd: 7 }
`;
    expect(readDeclaration('digits', text)).toMatchObject({
      valid: true,
      pipeline: {
        compute: { instanceTypes: ['g5.xlarge', 'g6.xlarge'] },
        limits: { deadlineHours: 3, budgetUsd: 7 },
      },
    });
  });
});

it('a second document is refused in plain words', () => {
  expect(problemsOf(readDeclaration('digits', `${GOOD}---\n${GOOD}`))['']).toBe(
    'holds several YAML documents: write one, without a line of ---',
  );
});

describe('a hostile declaration', () => {
  it('is not expanded as an alias bomb', () => {
    const levels = Array.from({ length: 12 }, (_, level) =>
      level === 0
        ? 'a0: &a0 [x, x]'
        : `a${level}: &a${level} [${Array(9)
            .fill(`*a${level - 1}`)
            .join(', ')}]`,
    );
    const began = performance.now();
    const declaration = readDeclaration('digits', levels.join('\n'));
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(problemsOf(declaration)['']).toContain('aliases');
  });

  it('is not read when too long', () => {
    const declaration = readDeclaration('digits', `${GOOD}# ${'x'.repeat(200_000)}`);
    expect(problemsOf(declaration)['']).toContain('keep it under 100000');
  });

  it('changes no prototype', () => {
    const text = `${GOOD}__proto__: { polluted: true }\nconstructor: { prototype: { polluted: true } }`;
    expect(readDeclaration('digits', text).valid).toBe(false);
    expect('polluted' in {}).toBe(false);
  });

  it('runs no tag', () => {
    expect(readDeclaration('digits', 'name: !!js/function "function(){ throw 1 }"').valid).toBe(false);
  });

  it('is answered, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), fc.string({ unit: 'binary' })), (text) => {
        const declaration = readDeclaration('digits', text);
        expect(declaration.valid || declaration.problems.length > 0).toBe(true);
      }),
      { numRuns: 100 },
    );
  }, 30_000);
});

describe('the JSON Schema for editors', () => {
  const schema = pipelineJsonSchema() as {
    readonly properties: Record<string, { readonly properties?: Record<string, unknown> }>;
    readonly required: readonly string[];
    readonly additionalProperties: boolean;
  };

  it('asks only for what has no default', () => {
    expect([...schema.required].sort()).toEqual(['compute', 'name', 'training']);
  });

  it('refuses unknown keys, as the service does', () => {
    expect(schema.additionalProperties).toBe(false);
  });

  it('describes every part of a declaration, with its bounds', () => {
    expect(Object.keys(schema.properties)).toEqual(
      expect.arrayContaining(['name', 'settle', 'packing', 'training', 'compute', 'limits', 'schedule']),
    );
    expect(schema.properties['settle']?.properties?.['quietSeconds']).toMatchObject({
      type: 'integer',
      minimum: 1,
      maximum: 86_400,
      default: 60,
    });
  });
});
