import { describe, expect, it } from 'vitest';
import { launch, requestOf } from '../../support/builders/launch.ts';

const read = (name: string, line: string): string | undefined => {
  const { MetricDefinitions: definitions } = requestOf(launch()).AlgorithmSpecification;
  return new RegExp(definitions.find(({ Name }) => Name === `tidewheel:${name}`)?.Regex ?? '(?!)').exec(
    line,
  )?.[1];
};

describe('the metric definitions', () => {
  const line = 'tidewheel step=120 total=480 val_loss=9 loss=1.5e-04 accuracy=0.97';

  it.each([
    ['step', '120'],
    ['total', '480'],
    ['loss', '1.5e-04'],
    ['accuracy', '0.97'],
  ])('read %s from the line of the agent', (name, value) => {
    expect(read(name, line)).toBe(value);
  });

  it.each([
    ['cpu_percent', '93.1'],
    ['gpu_percent', '7'],
    ['gpu_memory_percent', '55.2'],
    ['data_wait_percent', '12'],
    ['memory_bytes', '1.2e+10'],
  ])('read %s from what a host says of itself', (name, value) => {
    const usage =
      '[tidewheel] usage host=10.0.0.1 cpu_percent=93.1 memory_bytes=1.2e+10 gpu_percent=7 gpu_memory_percent=55.2 data_wait_percent=12';
    expect(read(name, usage)).toBe(value);
  });

  it('read checkpoint age, save time and stalls', () => {
    const checkpoint = '[tidewheel] checkpoint age_seconds=61 step=120 size_bytes=48211 save_seconds=1.25';
    expect(read('checkpoint_age_seconds', checkpoint)).toBe('61');
    expect(read('checkpoint_save_seconds', checkpoint)).toBe('1.25');
    expect(read('checkpoint_stalled_seconds', checkpoint)).toBeUndefined();
    const warning = '[tidewheel] WARNING: no new complete checkpoint for 540 s, expected every 60 s: work';
    expect(read('checkpoint_stalled_seconds', warning)).toBe('540');
  });

  it('read nothing from the lines of the script', () => {
    expect(read('loss', 'epoch 3 loss=0.5')).toBeUndefined();
  });
});
