import { describe, expect, it } from 'vitest';
import {
  ACCOUNT_TABLES,
  accountsOf,
  type ImageRow,
  type ImageTable,
  imageRow,
  refresh,
  sdkAccounts,
  sdkRows,
} from '../facts/image-catalogue.ts';
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
    ['Scikit-Learn', '1.4-2-py312', { framework: 'sklearn', version: '1.4-2-py312', python: '3.12' }],
    ['XGBoost', '3.2-0', { framework: 'xgboost', version: '3.2-0', python: '3.12' }],
  ])('reads an image of %s', (framework, tag, made) => {
    expect(imageRow('any', entry({ framework, tags: `["${tag}"]` }))).toMatchObject({ ...made, tag });
  });

  it('reads one of transformers by their version', () => {
    const tag = '2.9.0-transformers5.3.0-gpu-py312-cu130-ubuntu22.04';
    const text = entry({ transformers: '"5.3.0"', python: 'py312', tags: `["${tag}"]` });
    const made = { framework: 'huggingface', version: '5.3.0', python: '3.12', tag };
    expect(imageRow('huggingface-pytorch-training', text)).toMatchObject(made);
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

describe('sdkRows', () => {
  const registries = { 'us-east-1': '763104351884', 'us-iso-east-1': '886529160074' };
  const listed = (versions: Record<string, unknown>, over = {}) =>
    JSON.stringify({ training: { versions, ...over } });

  it.each([
    ['pytorch', '2.1.0', ['py310'], { tag: '2.1.0-cpu-py310', python: '3.10' }],
    ['sklearn', '1.2-1', ['py3'], { tag: '1.2-1-cpu-py3', python: '3.9' }],
    ['xgboost', '1.7-1', undefined, { tag: '1.7-1', python: '3.9' }],
  ] as const)('names the tag of %s %s as the SDK does', (framework, version, pythons, made) => {
    const build = { registries, repository: 'any', ...(pythons && { py_versions: pythons }) };
    const [first] = sdkRows(framework, listed({ [version]: build }));
    expect(first).toMatchObject({ framework, version, device: 'cpu', ...made });
  });

  it('takes transformers over PyTorch alone', () => {
    const build = { registries, repository: 'huggingface-pytorch-training', py_versions: ['py311'] };
    const pytorch = { ...build, container_version: { gpu: 'cu121-ubuntu20.04' } };
    const versions = { '4.46.1': { 'pytorch2.3.0': pytorch, 'tensorflow2.6.3': build } };
    const rows = sdkRows('huggingface', listed(versions, { processors: ['gpu'] }));
    expect(rows.map(({ tag }) => tag)).toEqual(['2.3.0-transformers4.46.1-gpu-py311-cu121-ubuntu20.04']);
  });

  it('leaves out images without a Python that is known', () => {
    const build = { registries, repository: 'sagemaker-pytorch', py_versions: ['py2', 'py3'] };
    expect(sdkRows('pytorch', listed({ '1.0.0': build }))).toEqual([]);
    expect(sdkAccounts(listed({ '1.0.0': build }))).toEqual({ 'us-east-1': '763104351884' });
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
    expect(accountsOf(page, ACCOUNT_TABLES.algorithmAccounts)).toEqual({ 'us-east-2': '257758044811' });
  });
});

describe('refresh', () => {
  const known: ImageTable = {
    source: 'old',
    accounts: { 'us-gov-west-1': '442386744353' },
    algorithmAccounts: {},
    images: [
      { ...row, version: '2.9.0' },
      { ...row, version: '2.10.0' },
    ],
  };

  it('adds new images, keeps known ones, reports changes', () => {
    const read = {
      source: 'new',
      accounts: { 'us-east-1': '763104351884' },
      algorithmAccounts: {},
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
