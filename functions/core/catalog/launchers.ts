/** SageMaker, or instances of one's own account on EC2: which one a pipeline allows, and which one an attempt was placed on. */
import type { Pipeline } from '../pipeline/pipeline.ts';

export type LauncherName = 'sagemaker' | 'ec2';

type Declared = Pick<Pipeline['compute'], 'launcher'>;

/** Those that placement weighs. */
export const launchersOf = ({ launcher = 'sagemaker' }: Declared): readonly LauncherName[] =>
  launcher === 'cheapest' ? ['sagemaker', 'ec2'] : [launcher];

/** The one that runs an attempt there. Pools of before launchers were weighed do not say it: then the pipeline does. */
export const launcherOf = (
  { launcher = 'sagemaker' }: Declared,
  pool: { readonly launcher?: LauncherName | undefined },
): LauncherName => pool.launcher ?? (launcher === 'cheapest' ? 'sagemaker' : launcher);

/** As people read it. */
export const serviceName = (launcher: LauncherName | undefined): string =>
  launcher === 'ec2' ? 'EC2' : 'SageMaker';
