import { describe, expect, it } from 'vitest';
import { accountsOf, type ImageRow, type ImageTable, imageRow, refresh } from '../facts/image-catalogue.ts';
import table from '../facts/image-table.json' with { type: 'json' };

const entry = (over: Record<string, string> = {}): string =>
  Object.entries({
    framework: 'PyTorch',
    version: '"2.13"',
    accelerator: 'gpu',
    platform: 'sagemaker',
    eop: '"2027-07-20"',
    tags: '["2.13.0-cu133-amzn2023-sagemaker", "2.13-cu133-amzn2023-sagemaker"]',
    ...over,
  })
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

const row: ImageRow = {
  framework: 'pytorch',
  version: '2.13.0',
  device: 'gpu',
  repository: 'pytorch',
  tag: '2.13.0-cu133-amzn2023-sagemaker',
  supportedUntil: '2027-07-20',
};

describe('imageRow', () => {
  it("reads an image with its patch's tag", () => {
    expect(imageRow('pytorch', entry())).toEqual(row);
  });

  it.each([
    ['an image for EC2', { platform: 'ec2' }],
    ['a chip that is neither CPU nor GPU', { accelerator: 'neuronx' }],
    ['an unwanted framework', { framework: 'MXNet' }],
    ['a tag without a patch', { tags: '["latest"]' }],
    ['a tag that is no tag', { tags: '["2.13.0; rm -rf /"]' }],
    ['no tags at all', { tags: '[]' }],
    ['an end of support that is no day', { eop: 'soon' }],
  ])('leaves out %s', (_, over) => {
    expect(imageRow('pytorch', entry(over))).toBeUndefined();
  });
});

describe('accountsOf', () => {
  const page = `# Regions
## Deep Learning Containers
| Region | Code | Account ID |
| --- | --- | --- |
| US East (Ohio) | us-east-2 | 763104351884 |
| Mexico (Central) | mx-central-1 | 637423239942 |
## SageMaker Algorithm Registry
| US East (Ohio) | us-east-2 | 257758044811 |`;

  it('reads the table of training images and no other', () => {
    expect(accountsOf(page)).toEqual({ 'us-east-2': '763104351884', 'mx-central-1': '637423239942' });
  });
});

describe('refresh', () => {
  const known: ImageTable = {
    source: 'old',
    accounts: { 'us-gov-west-1': '442386744353' },
    images: [
      { ...row, version: '2.9.0' },
      { ...row, version: '2.10.0' },
    ],
  };

  it('adds new images, keeps known ones, reports changes', () => {
    const read = {
      source: 'new',
      accounts: { 'us-east-1': '763104351884' },
      images: [row, { ...row, version: '2.9.0', supportedUntil: '2028-01-01' }],
    };
    const { table: made, changes } = refresh(known, read);
    expect(made.images.map(({ version }) => version)).toEqual(['2.9.0', '2.10.0', '2.13.0']);
    expect(made.images[0]?.supportedUntil).toBe('2028-01-01');
    expect(Object.keys(made.accounts)).toEqual(['us-east-1', 'us-gov-west-1']);
    expect(changes).toEqual([
      expect.stringMatching(/^new: pytorch 2.13.0 gpu/),
      expect.stringMatching(/^changed: pytorch 2.9.0/),
      expect.stringMatching(/^account of us-east-1/),
    ]);
  });

  it('changes nothing when nothing changed', () => {
    const shipped = table as ImageTable;
    expect(refresh(shipped, shipped)).toEqual({ table: shipped, changes: [] });
  });
});
