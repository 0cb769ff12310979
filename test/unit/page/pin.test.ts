/** Which versions of a dataset the page offers to pin. */
import { expect, it } from 'vitest';
import { type DatasetView, pinnable } from '../../../page/model/pinnable.ts';

const sealed = (name: string) => ({ name, state: 'sealed' as const, samples: 10 });
const dataset = (over: Partial<DatasetView> = {}): DatasetView => ({
  newest: 3,
  versions: [
    { number: 3, kind: 'compacted', changed: ['d-1-c1'], generations: ['d-1-c1'] },
    { number: 2, kind: 'sealed', changed: ['d-2'], generations: ['d-1', 'd-2'] },
    { number: 1, kind: 'sealed', changed: ['d-1'], generations: ['d-1'] },
  ],
  generations: [sealed('d-1-c1'), sealed('d-2'), sealed('d-1')],
  ...over,
});

it('a generation stands for the version that it ended', () => {
  expect(pinnable(dataset(), 'd-2')).toMatchObject({ number: 2, samples: 20 });
});

it('a version with a pruned generation is not offered', () => {
  const generations = [sealed('d-2'), { ...sealed('d-1'), state: 'pruned' as const }];
  expect(pinnable(dataset({ generations }), 'd-2')).toBeUndefined();
});

it('a generation of rejections alone is not offered', () => {
  const versions = [{ number: 1, kind: 'sealed' as const, changed: ['d-1'], generations: [] }];
  expect(pinnable(dataset({ versions }), 'd-1')).toBeUndefined();
});
