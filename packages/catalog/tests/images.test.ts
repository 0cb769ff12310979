import { FRAMEWORKS, pipelineSchema } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { frameworkProblem, imageFor, packagesOfImage } from '../facts/training-images.ts';

const ask = (
  version: string,
  device: 'cpu' | 'gpu' | 'gpu-arm64' | 'neuron' = 'gpu',
  region = 'us-east-1',
  framework = 'pytorch',
) => imageFor({ framework, version, region, device });

describe('imageFor', () => {
  it.each([
    [
      '2.8.0',
      'gpu',
      'us-east-1',
      '763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8.0-gpu-py312-cu129-ubuntu22.04-sagemaker',
    ],
    [
      '2.10',
      'cpu',
      'eu-west-1',
      '763104351884.dkr.ecr.eu-west-1.amazonaws.com/pytorch-training:2.10.0-cpu-py313-ubuntu22.04-sagemaker',
    ],
    [
      '2.13',
      'gpu',
      'eu-south-2',
      '503227376785.dkr.ecr.eu-south-2.amazonaws.com/pytorch:2.13.0-cu133-amzn2023-sagemaker',
    ],
    [
      '2.12',
      'cpu',
      'cn-north-1',
      '727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn/pytorch:2.12.1-cpu-amzn2023-sagemaker',
    ],
  ] as const)('names the PyTorch %s image for %s in %s', (version, device, region, uri) => {
    expect(ask(version, device, region)).toMatchObject({ kind: 'image', uri });
  });

  it('names the TensorFlow image', () => {
    expect(ask('2.21', 'gpu', 'us-west-2', 'tensorflow')).toMatchObject({
      uri: '763104351884.dkr.ecr.us-west-2.amazonaws.com/tensorflow-training:2.21.0-gpu-py312-cu129-amzn2023-sagemaker',
    });
  });

  it.each([
    ['huggingface', '4.56', 'gpu', '763104351884/huggingface-pytorch-training:2.8.0-transformers4.56.2-'],
    ['sklearn', '1.4-2', 'cpu', '683313688378/sagemaker-scikit-learn:1.4-2-cpu-py3'],
    ['xgboost', '3.0', 'cpu', '683313688378/sagemaker-xgboost:3.0-5'],
    ['xgboost', '3.2-0', 'gpu', '683313688378/sagemaker-xgboost:3.2-0'],
  ] as const)('names the image of %s %s for %s', (framework, version, device, image) => {
    expect(ask(version, device, 'us-east-1', framework)).toMatchObject({
      uri: expect.stringContaining(image.replace('/', '.dkr.ecr.us-east-1.amazonaws.com/')),
    });
  });

  it.each([
    ['sklearn', '1.2-1', '3.9', '1.4-2'],
    ['xgboost', '1.7-1', '3.9', '3.0-5'],
    ['huggingface', '4.26', '3.9', '4.28.1'],
    ['pytorch', '1.12', '3.8', '2.0.0'],
  ] as const)('refuses %s %s, and names the nearest', (framework, version, python, nearest) => {
    const device = framework === 'sklearn' ? 'cpu' : 'gpu';
    expect(ask(version, device, 'us-east-1', framework)).toMatchObject({
      field: 'frameworkVersion',
      message: expect.stringContaining(
        `image has Python ${python}, and Tidewheel's agent needs 3.10: use training.frameworkVersion: "${nearest}" or`,
      ),
    });
  });

  it('does not take 2.1 for 2.10', () => {
    expect(ask('2.1')).toMatchObject({ uri: expect.stringMatching(/:2\.1\.0-gpu-py310$/) });
  });

  it.each([
    ['frameworkVersion', ask('1.2'), '2.13.0'],
    ['region', ask('2.13', 'gpu', 'mars-north-1'), 'us-east-1'],
    ['region', ask('2.13', 'gpu', 'constructor'), 'us-east-1'],
    ['framework', ask('2.13', 'gpu', 'us-east-1', 'mxnet'), 'pytorch, tensorflow'],
    ['device', ask('1.9-0', 'gpu', 'us-east-1', 'sklearn'), 'choose cpu types'],
    ['device', ask('2.13', 'neuron'), 'image of your own'],
    ['device', ask('2.13', 'gpu-arm64'), 'image of your own'],
  ])('names what it knows when the %s is unknown', (field, answer, hint) => {
    expect(answer).toMatchObject({ kind: 'unknown', field, message: expect.stringContaining(hint) });
  });

  it.each([
    ['pytorch', '2.13', 'V100', 'the pytorch 2.13.0 image has CUDA 13, which needs compute capability 7.5'],
    [
      'pytorch',
      '2.9',
      'V100',
      'and V100 has 7.0: use training.frameworkVersion: "2.8.0" or an image of your own',
    ],
  ])('refuses %s %s on a %s', (framework, version, accelerator, message) => {
    const answer = imageFor({ framework, version, region: 'us-east-1', device: 'gpu', accelerator });
    expect(answer).toMatchObject({
      kind: 'unknown',
      field: 'accelerator',
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ['pytorch', '2.8', 'V100'],
    ['tensorflow', '2.21', 'V100'],
    ['pytorch', '2.13', 'T4'],
    ['pytorch', '2.13', 'H200'],
    ['pytorch', '2.13', 'a kind that no source names'],
  ])('takes %s %s for a %s', (framework, version, accelerator) => {
    const answer = imageFor({ framework, version, region: 'us-east-1', device: 'gpu', accelerator });
    expect(answer.kind).toBe('image');
  });
});

describe('frameworkProblem', () => {
  const problem = (training: Record<string, unknown>, compute: Record<string, unknown> = CPU_OR_GPU) =>
    frameworkProblem(
      pipelineSchema.parse({ name: 'digits', training: { strategy: 'single', ...training }, compute }),
    )?.message;
  const CPU_OR_GPU = { instanceTypes: ['m5.xlarge', 'g5.xlarge'] };

  it.each(FRAMEWORKS)('is none for %s without a version', (framework) => {
    expect(problem({ framework })).toBeUndefined();
    expect(problem({ framework }, { needs: { accelerators: 1 } })).toBeUndefined();
  });

  it('is what every declared type would meet', () => {
    expect(problem({ framework: 'huggingface', frameworkVersion: '4.26' })).toContain(
      'use training.frameworkVersion: "4.28.1"',
    );
    expect(problem({ framework: 'xgboost', frameworkVersion: '9.9' })).toContain('use 3.0-5, 3.2-0 or');
    expect(problem({ framework: 'sklearn' }, { instanceTypes: ['g5.xlarge'] })).toContain('choose cpu types');
    expect(problem({ framework: 'xgboost', frameworkVersion: '9.9', image: 'own' })).toBeUndefined();
  });
});

it.each([
  ['sklearn', '1.4-2', 'cpu', 'scikit-learn==1.4.2'],
  ['sklearn', '1.4-2-py312', 'cpu', 'scikit-learn==1.4.2'],
  ['xgboost', '3.0-5', 'cpu', 'xgboost==3.0.5'],
  ['huggingface', '5.3.0', 'gpu', 'transformers==5.3.0'],
  ['tensorflow', '2.21.0', 'cpu', 'tensorflow==2.21.0'],
] as const)('the image of %s %s stands for its packages', (framework, version, device, named) => {
  const answer = ask(version, device, 'us-east-1', framework);
  expect(answer.kind === 'image' && packagesOfImage(answer.uri)).toContain(named);
  expect(packagesOfImage('123456789012.dkr.ecr.us-east-1.amazonaws.com/own:1')).toEqual([]);
});
