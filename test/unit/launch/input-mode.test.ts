import { catalogTypes, instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { chooseInput, type InputChoice } from '@tidewheel/catalog/data-on-hosts.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { downloadQuestion } from '../../../functions/launch/job/job-document.ts';
import { buildTrainingJob } from '../../../functions/launch/sagemaker/training-job.ts';
import { declaration, launch, placement } from '../../support/builders/launch.ts';

interface Case {
  readonly bytes: number;
  readonly shards: number;
  readonly instanceType?: string;
  readonly nodes?: number;
  readonly purchaseOption?: 'spot' | 'on-demand';
  readonly training?: Record<string, unknown>;
  readonly generations?: number;
}

const question = ({
  bytes,
  shards,
  instanceType = 'g5.xlarge',
  nodes = 2,
  purchaseOption = 'spot',
  training = {},
  generations = 1,
}: Case) => ({
  declaration: declaration({ training }),
  placement: placement({
    pool: { instanceType, launcher: 'sagemaker', purchaseOption },
    topology: { nodes, acceleratorsPerNode: 1 },
  }),
  generations: Array.from({ length: generations }, (_, index) => ({
    shardsPrefix: `digits/dataset/${index}/shards/`,
    shards: ['0.tar'],
    totals: { shards: shards / generations, bytes: bytes / generations },
  })),
});

function choice(of: Case): InputChoice {
  const answer = chooseInput(downloadQuestion(launch(question(of))));
  if ('problem' in answer) throw new Error(answer.problem.message);
  return answer;
}

const message = (of: Case): string => {
  const answer = chooseInput(downloadQuestion(launch(question(of))));
  return 'problem' in answer ? answer.problem.message : '';
};

it('downloads read over one network card', () => {
  // 400 Gbit/s on four cards, of which one alone reads from S3, and 8 TB of NVMe that take up 5.6 GB a second.
  const answer = choice({ bytes: 2e12, shards: 4_000, instanceType: 'p4d.24xlarge' });
  expect(answer).toMatchObject({ mode: 'FastFile', reason: expect.stringContaining('about 357 s') });
});

it('nothing is put on a disk of unknown size', () => {
  const answer = choice({ bytes: 1e10, shards: 100, instanceType: 'p6-b200.48xlarge' });
  expect(answer.reason).toBe('how much disk the type has is not known, so nothing is put on it');
});

/** g5.xlarge: 250 GB of NVMe and 2.5 Gbit/s, so 200 GB are usable at 156 MB/s. */
describe('chooseInput', () => {
  it('downloads what is quickly there', () => {
    expect(choice({ bytes: 10e9, shards: 40 })).toEqual({
      mode: 'File',
      reason:
        'about 64 s to download 10.0 GB; later epochs read it from the disk, for it is more than half of the memory',
    });
  });

  it('says what memory holds', () => {
    const reason = 'about 51 s to download 8.0 GB; later epochs read it from memory';
    expect(choice({ bytes: 8e9, shards: 40 })).toEqual({ mode: 'File', reason });
  });

  it('downloads what memory holds, on almost every type', () => {
    const types = catalogTypes();
    expect(types.length).toBeGreaterThan(100);
    const streamed = types.filter((instanceType) => {
      const bytes = (instanceFacts(instanceType)?.memoryGib ?? 0) * 2 ** 29;
      return /stream well/.test(choice({ bytes, shards: 1 + bytes / 2e8, instanceType }).reason);
    });
    // 412 GB take longer to its disks, whose rate is assumed.
    expect(streamed).toEqual(['p3dn.24xlarge']);
  });

  it('streams large shards that take long to download', () => {
    expect(choice({ bytes: 100e9, shards: 400 })).toMatchObject({
      mode: 'FastFile',
      reason: expect.stringContaining('after an interruption'),
    });
  });

  it('allows a longer download on demand', () => {
    expect(choice({ bytes: 100e9, shards: 400, purchaseOption: 'on-demand' }).mode).toBe('File');
  });

  it('downloads shards that are too small to be streamed', () => {
    expect(choice({ bytes: 100e9, shards: 100_000 })).toMatchObject({
      mode: 'File',
      reason: expect.stringContaining('too small'),
    });
  });

  it('streams what does not fit even in small shards', () => {
    expect(choice({ bytes: 300e9, shards: 1_000_000 })).toMatchObject({
      mode: 'FastFile',
      reason: expect.stringContaining('do not fit'),
    });
  });

  it("counts one host's part when shards are divided", () => {
    const training = { distribution: 'ShardedByS3Key' };
    expect(choice({ bytes: 80e9, shards: 400 }).mode).toBe('FastFile');
    expect(choice({ bytes: 80e9, shards: 400, nodes: 4, training }).mode).toBe('File');
  });

  it('considers the volume of a type without NVMe', () => {
    // 30 GB of EBS, 24 of them usable.
    expect(
      choice({ bytes: 23e9, shards: 90, instanceType: 'm5.xlarge', purchaseOption: 'on-demand' }).mode,
    ).toBe('File');
    expect(
      choice({ bytes: 25e9, shards: 90, instanceType: 'm5.xlarge', purchaseOption: 'on-demand' }).mode,
    ).toBe('FastFile');
  });

  it.each([
    ['File', 'all is downloaded before the start; later epochs read it from memory'],
    ['FastFile', 'no download before the start; each epoch reads what it needs from S3, 1.0 GB'],
    ['Pipe', 'no download before the start; each epoch comes once, in order, through a FIFO, 1.0 GB'],
  ])('obeys a declared %s', (mode, why) => {
    const found = choice({ bytes: 1e9, shards: 4, training: { inputMode: mode } });
    expect(found).toEqual({ mode, reason: `as declared: ${why}` });
  });

  it('says how much disk a declared File would need', () => {
    expect(message({ bytes: 300e9, shards: 9, training: { inputMode: 'File' } })).toContain('375 GB');
  });

  it('never streams several generations', () => {
    expect(choice({ bytes: 100e9, shards: 400, generations: 2 }).mode).toBe('File');
    expect(message({ bytes: 300e9, shards: 400, generations: 2 })).toContain('do not fit');
  });

  it('gives a reason, and File only if it fits', () => {
    const size = fc.record({
      bytes: fc.double({ min: 0, max: 1e14, noNaN: true }),
      shards: fc.integer({ min: 0, max: 1_000_000 }),
      instanceType: fc.constantFrom('g5.xlarge', 'p5.48xlarge', 'm5.xlarge', 'unknown.type'),
      purchaseOption: fc.constantFrom('spot' as const, 'on-demand' as const),
    });
    fc.assert(
      fc.property(size, (of) => {
        const { mode, reason } = choice(of);
        expect(reason.length).toBeGreaterThan(0);
        expect(mode === 'File' && of.instanceType === 'm5.xlarge' && of.bytes > 24e9).toBe(false);
      }),
    );
  });
});

describe('a training job', () => {
  it('reads as was chosen, and says why', () => {
    const job = buildTrainingJob(launch(question({ bytes: 100e9, shards: 400 })));
    expect(job).toMatchObject({ kind: 'request', input: { mode: 'FastFile' } });
    const channels = job.kind === 'request' ? job.request.InputDataConfig : [];
    expect(channels.map(({ InputMode }) => InputMode)).toEqual(['FastFile', 'File', 'File']);
  });

  it('shuffles the shards of a pipe each epoch', () => {
    const job = buildTrainingJob(launch({ declaration: declaration({ training: { inputMode: 'Pipe' } }) }));
    expect(job.kind === 'request' && job.request.InputDataConfig[0]).toMatchObject({
      InputMode: 'Pipe',
      ShuffleConfig: { Seed: 0 },
    });
  });
});
