/** What stands around the training of a pipeline, in each region. */
import type { TrainingView } from '../../core/deployment/account-view.ts';
import { ecrIn, secretsManagerIn, serviceQuotasIn, ssmIn } from '../shared/account-clients.ts';
import { s3In } from '../shared/clients.ts';
import { ec2In, iam } from '../shared/compute-clients.ts';
import { trainingView } from './training-view.ts';

export const trainingViewIn = (region: string): TrainingView =>
  trainingView({
    region,
    ec2: ec2In(region),
    ecr: ecrIn(region),
    iam: iam(),
    s3: s3In(region),
    secrets: secretsManagerIn(region),
    quotas: serviceQuotasIn(region),
    ssm: ssmIn(region),
  });
