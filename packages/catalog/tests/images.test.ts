import { describe, expect, it } from 'vitest';
import { imageFor } from '../facts/training-images.ts';

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

  it('does not take 2.1 for 2.10', () => {
    expect(ask('2.1')).toMatchObject({ kind: 'unknown', field: 'frameworkVersion' });
  });

  it.each([
    ['frameworkVersion', ask('1.2'), '2.13.0'],
    ['region', ask('2.13', 'gpu', 'mars-north-1'), 'us-east-1'],
    ['region', ask('2.13', 'gpu', 'constructor'), 'us-east-1'],
    ['framework', ask('2.13', 'gpu', 'us-east-1', 'mxnet'), 'pytorch, tensorflow'],
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
