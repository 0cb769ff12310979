/** No remedy is advised that the run was declared with. */
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { describe, expect, it } from 'vitest';
import { evidenceOf } from '../../../test/support/builders/evidence.ts';
import { isDeclared } from '../rules/declared-change.ts';
import { diagnose } from '../rules/diagnose.ts';
import { formatVerdicts } from '../rules/format-verdicts.ts';
import { furtherRemedies } from '../rules/further-remedies.ts';
import type { Change } from '../rules/verdict.ts';

const SECTIONS = {
  training: 'strategy: ddp',
  compute: 'instanceTypes: [ c5.4xlarge ]',
  packing: 'format: webdataset',
};

function declared(sections: Partial<typeof SECTIONS & { tuning: string }> = {}) {
  const all = Object.entries({ ...SECTIONS, ...sections }).map(([name, text]) => `${name}: { ${text} }`);
  const read = readDeclaration('digits', ['name: digits', ...all].join('\n'));
  if (!read.valid) throw new Error(JSON.stringify(read.problems));
  return read.pipeline;
}

const training = (text: string) => ({ training: `strategy: ddp, ${text}` });

describe('a remedy', () => {
  it.each<[Change, Partial<typeof SECTIONS>]>([
    [{ kind: 'threads', threads: 1 }, training('environment: { OMP_NUM_THREADS: 1 }')],
    [{ kind: 'workers', workers: 4 }, training('hyperparameters: { num_workers: 4 }')],
    [{ kind: 'input-mode', inputMode: 'FastFile' }, training('inputMode: FastFile')],
    [{ kind: 'instance-type', type: 'c5.9xlarge' }, { compute: 'instanceTypes: [ c5.9xlarge ]' }],
    [{ kind: 'nodes', nodes: 2 }, { compute: 'instanceTypes: [ c5.4xlarge ], nodes: 2' }],
    [
      { kind: 'helpers', type: 'c5.9xlarge', nodes: 2 },
      {
        training: 'strategy: ray',
        compute:
          'instanceTypes: [ g5.xlarge ], helpers: [ { name: cpu, instanceType: c5.9xlarge, nodes: 2 } ]',
      },
    ],
    [{ kind: 'prepare-when-packing' }, { packing: 'prepare: { image: { maxSide: 224 } }' }],
  ])('%o is declared only where it is written', (change, sections) => {
    expect(isDeclared(change, declared(sections))).toBe(true);
    expect(isDeclared(change, declared())).toBe(false);
  });

  it('is not declared by one of several types', () => {
    const several = declared({ compute: 'instanceTypes: [ c5.4xlarge, c5.9xlarge ]' });
    expect(isDeclared({ kind: 'instance-type', type: 'c5.9xlarge' }, several)).toBe(false);
  });

  it('that is declared is not advised, in whichever place', () => {
    const crowded = { type: 'c5.4xlarge', cpu: { main: 15, workers: 0, all: 15, threads: 64 }, processes: 4 };
    const evidence = evidenceOf([crowded]);
    const onCpus = { ...evidence, points: evidence.points.map((point) => ({ ...point, gpu: null })) };
    const declaration = declared(training('environment: { OMP_NUM_THREADS: 2 }'));
    expect(diagnose(onCpus)[0]?.remedy?.change).toEqual({ kind: 'threads', threads: 2 });
    expect(diagnose({ ...onCpus, declaration })[0]).toMatchObject({ cause: 'nothing-wrong' });
  });

  it('gives way to another one of its cause', () => {
    const often = { data: { bytes: 5e11, files: 2_000 }, runsPerMonth: 30 };
    const evidence = evidenceOf([{ type: 'g5.xlarge' }], { download: 3_200 }, often);
    const sharded = { tuning: 'training: { distribution: ShardedByS3Key }' };
    const declaration = declared({ ...training('inputMode: FastFile'), ...sharded });
    expect(diagnose(evidence)[0]).toMatchObject({ remedy: { change: { kind: 'input-mode' } } });
    const advice = JSON.stringify(diagnose({ ...evidence, declaration }));
    expect(advice).not.toMatch(/FastFile|ShardedByS3Key/);
    expect(advice).toContain('file-system');
  });
});

it('a forecast that may be negative is no saving', () => {
  // Other programs hold the cores that a worker would take.
  const starved = { shares: { wait: 0.4, compute: 0.6 }, workers: 0, gpuBusy: 0.9 };
  const cpu = { cores: 2, main: 0.1, workers: 0, all: 1.7, runQueue: 27 };
  const evidence = evidenceOf([{ ...starved, cpu }]);
  const text = formatVerdicts(evidence, diagnose(evidence));
  expect(text).toContain('1. too-few-workers');
  expect(text).not.toMatch(/saves .*\(-\d/);
});

describe('a channel on a file system', () => {
  const said = (channel: string): string => {
    const pipeline = declared({
      ...training(`channels: { images: ${channel} }`),
      compute:
        'instanceTypes: [ g5.xlarge ], vpc: { subnets: [ { id: subnet-0123456789abcdef0, zoneId: use1-az1 } ], securityGroupIds: [ sg-0123456789abcdef0 ] }',
    });
    return furtherRemedies('too-few-workers', { ...evidenceOf([{}]), declaration: pipeline }).join();
  };

  it.each(['{ efs: fs-0123456789abcdef0 }', '{ fsxLustre: fs-0123456789abcdef0, directory: /a/b }'])(
    'wants few large files: %s',
    (channel) => {
      expect(said(channel)).toContain('few large files on FSx and EFS too');
    },
  );

  it('is none of S3', () => {
    expect(said('{ s3: incoming/ }')).not.toContain('FSx and EFS');
  });
});
