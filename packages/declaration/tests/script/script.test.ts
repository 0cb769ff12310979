/** How a declaration says to start a script: what it accepts, what it refuses, and with which words. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { MAXIMUM_VALUE, scriptParameters } from '../../../../functions/launch/job/hyperparameters.ts';
import { readDeclaration } from '../../schema/declaration.ts';

const declared = (training: string) =>
  readDeclaration(
    'digits',
    `name: digits\ncompute: { instanceTypes: [g5.xlarge] }\ntraining: { strategy: single, ${training} }\n`,
  );

const problemsOf = (training: string): Record<string, string> => {
  const declaration = declared(training);
  return declaration.valid
    ? {}
    : Object.fromEntries(declaration.problems.map(({ path, message }) => [path, message]));
};

function trainingOf(text: string) {
  const declaration = declared(text);
  if (!declaration.valid) throw new Error(JSON.stringify(declaration.problems));
  return declaration.pipeline.training;
}

/** As the agent joins them. */
function documentOf(training: Parameters<typeof scriptParameters>[0]): unknown {
  const pieces = Object.entries(scriptParameters(training)).filter(([name]) =>
    name.startsWith('tidewheel_script'),
  );
  expect(pieces.map(([name]) => name)).toEqual(
    pieces.map((_, index) => (index === 0 ? 'tidewheel_script' : `tidewheel_script_${index + 1}`)),
  );
  return JSON.parse(pieces.map(([, piece]) => piece).join(''));
}

describe('arguments', () => {
  it('keep what was typed, numbers and booleans too', () => {
    const { arguments: given } = trainingOf(
      "arguments: [data, --lr, 0.0, --wd=1e-4, 1_0, 0x1F, True, false, [--resume, '${checkpoints}/last.pt?']]",
    );
    expect(given).toEqual([
      'data',
      '--lr',
      '0.0',
      '--wd=1e-4',
      '1_0',
      '0x1F',
      'True',
      'false',
      ['--resume', '${checkpoints}/last.pt?'],
    ]);
  });

  it('may name folders and the channels that are declared', () => {
    const channels = 'channels: { images: { s3: s3://bucket/images/ } }';
    expect(
      problemsOf(
        `${channels}, arguments: ['\${checkpoints}', '\${model}', '\${output}', '\${source}/a', '\${channel:images}', '\${channel:train}', '\${hyperparameters}', '$\${now:%Y}', '$5', 'why?']`,
      ),
    ).toEqual({});
  });

  it('with unknown placeholders are refused all at once', () => {
    const problems = problemsOf(
      "channels: { images: { s3: s3://bucket/images/ } }, arguments: ['${home}', ['-d', '${channel:image}'], 'x${', 'a${hyperparameters}'], command: [bash, '${checkpoint}']",
    );
    expect(Object.keys(problems).sort()).toEqual(
      [
        'training.arguments[0]',
        'training.arguments[1][1]',
        'training.arguments[2]',
        'training.arguments[3]',
        'training.command[1]',
      ].sort(),
    );
    expect(problems['training.arguments[0]']).toContain('${checkpoints}, ${model}, ${output}, ${source}');
    expect(problems['training.arguments[1][1]']).toContain('the channels are train, images');
    expect(problems['training.arguments[2]']).toContain('close it');
  });

  it('that may be left out name one path', () => {
    expect(problemsOf("arguments: ['${source}/a=${model}?']")['training.arguments[0]']).toContain('several');
  });

  it('may ask for the newest checkpoint of a name', () => {
    const given = [
      '--resume=${checkpoints}/epoch_*.pt?',
      ['--ckpt_path', '${checkpoints}/runs/version_*/step=*.ckpt?'],
      '$${x}=*:${checkpoints}/a.pt?',
      '*${checkpoints}/a.pt?',
      // The script itself resolves these.
      '${channel:train}/*.tar',
      '${checkpoints}/*.pt',
    ];
    expect(problemsOf(`arguments: ${JSON.stringify(given)}`)).toEqual({});
    expect(trainingOf(`arguments: ${JSON.stringify(given)}`).arguments).toEqual(given);
  });

  it('may ask so only below the checkpoints', () => {
    const given = [
      '${source}/*.pt?',
      ['--from', '${checkpoints}_*.pt?'],
      '${checkpoints}/**/x.pt?',
      '${checkpoints}/../*.pt?',
      '${checkpoints}/*//x.pt?',
    ];
    const problems = problemsOf(`arguments: ${JSON.stringify(given)}`);
    expect(problems['training.arguments[0]']).toContain('has * below ${source}');
    expect(problems['training.arguments[0]']).toContain('${checkpoints}/epoch_*.pt?');
    expect(problems['training.arguments[1][1]']).toContain('no / after ${checkpoints}');
    expect(problems['training.arguments[2]']).toContain('one * for each folder');
    expect(problems['training.arguments[3]']).toContain('".."');
    expect(problems['training.arguments[4]']).toContain('empty parts');
  });

  it('that no program can get are refused', () => {
    expect(problemsOf('arguments: ["a\\0b"]')['training.arguments[0]']).toContain('NUL');
    expect(problemsOf('arguments: ["\\ud800"]')['training.arguments[0]']).toContain('surrogate');
    expect(problemsOf('arguments: [null]')['training.arguments[0]']).toContain('is empty');
  });

  it('reach the agent in hyperparameters that SageMaker takes', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc
            .string({ unit: 'binary', maxLength: 80 })
            .map((text) => text.toWellFormed().replaceAll('\0', '')),
          { maxLength: 12 },
        ),
        (texts) => {
          const given = texts.map((text) => text.replaceAll('$', '$$$$'));
          const training = trainingOf(`arguments: ${JSON.stringify(given)}`);
          const parameters = Object.values(scriptParameters(training));
          expect(parameters.length).toBeLessThanOrEqual(7);
          for (const piece of parameters)
            expect(JSON.stringify(piece).replace(/[^ -~]/g, '------').length).toBeLessThanOrEqual(
              MAXIMUM_VALUE,
            );
          expect(documentOf(training)).toEqual({ arguments: given });
        },
      ),
      { numRuns: 100 },
    );
  });

  it('beyond what SageMaker takes are refused with the limit', () => {
    const long = JSON.stringify(Array.from({ length: 5 }, () => 'é'.repeat(600)));
    expect(problemsOf(`arguments: ${long}`)['training.arguments']).toMatch(
      /18\d{3} characters.*limit is 16000/,
    );
  });
});

describe('a command', () => {
  it('stands in the place of a script', () => {
    expect(documentOf(trainingOf('command: [python, -m, package.module]'))).toEqual({
      command: ['python', '-m', 'package.module'],
    });
    expect(problemsOf('command: [bash, run.sh], entryPoint: train.py')['training.command']).toContain(
      'exclude each other',
    );
  });

  it('begins with a program', () => {
    for (const first of ['""', '"-x"', '"a b"', '"$(id)"', '"${source}/x"', '/bin/sh'])
      expect(Object.keys(problemsOf(`command: [${first}]`))).toEqual(['training.command[0]']);
    expect(problemsOf('command: []')).toHaveProperty(['training.command']);
  });
});

describe('hooks that measure', () => {
  it('reach the agent only where they are declined', () => {
    const declining = { ...trainingOf('model: none'), instrument: false };
    expect(documentOf(declining)).toEqual({ instrument: false });
    expect(scriptParameters({ ...declining, instrument: true })).toEqual({});
  });
});

describe('variables', () => {
  it('keep what was typed', () => {
    expect(trainingOf('environment: { A: 1, B: 0.10, C: true, D: "${checkpoints}/x" }').environment).toEqual({
      A: '1',
      B: '0.10',
      C: 'true',
      D: '${checkpoints}/x',
    });
  });

  it('that others own are refused with the reason', () => {
    const names = [
      'AWS_REGION',
      'SM_HPS',
      'TIDEWHEEL_SPOT',
      'LD_PRELOAD',
      'PATH',
      'PYTHONPATH',
      'RANK',
      'SAGEMAKER_X',
    ];
    const problems = problemsOf(`environment: { ${names.map((name) => `${name}: x`).join(', ')} }`);
    expect(Object.keys(problems)).toEqual(names.map((name) => `training.environment.${name}`));
    expect(problems['training.environment.LD_PRELOAD']).toContain('training.image');
    expect(problems['training.environment.RANK']).toContain('training.strategy');
  });

  it('have names that a process can have', () => {
    expect(
      Object.keys(problemsOf('environment: { "A=B": x, "": x, "BASH_FUNC_x%%": y, 1A: z }')),
    ).toHaveLength(4);
  });

  it('are not shown in what a refusal says', () => {
    expect(JSON.stringify(declared('environment: { TOKEN: "hunter2\\0" }'))).not.toContain('hunter2');
  });
});

describe('a version', () => {
  it('needs no quotes', () => {
    expect(trainingOf('frameworkVersion: 2.10')).toMatchObject({ frameworkVersion: '2.10' });
  });
});

describe('a hyperparameter', () => {
  it('keeps the form of its number', () => {
    const { hyperparameters } = trainingOf(
      'hyperparameters: { lr: 0.0, wd: 1e-4, n: 12, half: .5, hex: 0x10, yes: true, text: "0.0" }',
    );
    expect(hyperparameters).toEqual({
      lr: { number: '0.0' },
      wd: { number: '1e-4' },
      n: 12,
      half: 0.5,
      hex: 16,
      yes: true,
      text: '0.0',
    });
  });

  it('keeps it through anchors and in JSON', () => {
    const text = `
x-base: &base { lr: 0.0 }
name: digits
compute: { instanceTypes: [g5.xlarge] }
limits: { deadlineHours: 2.0 }
training: { strategy: single, hyperparameters: { <<: *base, wd: 0.10 } }`;
    const declaration = readDeclaration('digits', text);
    expect(declaration).toMatchObject({
      valid: true,
      pipeline: {
        limits: { deadlineHours: 2 },
        training: { hyperparameters: { lr: { number: '0.0' }, wd: { number: '0.10' } } },
      },
    });
    const json = `{"name":"digits","compute":{"instanceTypes":["g5.xlarge"]},"training":{"strategy":"single","hyperparameters":{"lr":1.0}}}`;
    expect(readDeclaration('digits', json)).toMatchObject({
      pipeline: { training: { hyperparameters: { lr: { number: '1.0' } } } },
    });
  });
});

describe('the documentation', () => {
  const page = readFileSync(new URL('../../../../docs/pipeline.md', import.meta.url), 'utf8');
  const examples = [...page.matchAll(/```yaml\n((?:#.*\n)*training:\n[^`]*)```/g)].map(
    ([, text = '']) => text,
  );

  it('shows declarations that are taken', () => {
    expect(examples.length).toBeGreaterThan(4);
    for (const example of examples) {
      const training = parse(example).training as Record<string, unknown>;
      const text = stringify({
        name: 'digits',
        compute: { instanceTypes: ['g5.xlarge'] },
        training: { strategy: 'single', ...training },
      });
      expect({ example, ...readDeclaration('digits', text) }).toMatchObject({ example, valid: true });
    }
  });
});

describe('the folder in which it runs', () => {
  it('lies in the source or holds the checkpoints', () => {
    expect(problemsOf('workingDirectory: examples/vit')).toEqual({});
    expect(problemsOf("workingDirectory: '${checkpoints}'")).toEqual({});
    for (const path of ['/etc', '..', 'a/../b', 'a/', './a', 'a//b', '', '${checkpoints}/../x', '${model}'])
      expect(Object.keys(problemsOf(`workingDirectory: '${path}'`))).toEqual(['training.workingDirectory']);
  });
});
