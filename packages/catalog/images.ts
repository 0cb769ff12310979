/**
 * AWS's training images.
 *
 * In: framework, version, region. Out: the image's URI, or undefined. Called by the launcher of SageMaker and `images:refresh`.
 */

export { AWS_IMAGE_ACCOUNTS, CONTAINER_ACCOUNTS } from './facts/image-accounts.ts';
export {
  ACCOUNT_TABLES,
  accountsOf,
  type ImageRow,
  type ImageTable,
  imageRow,
  imageTableSchema,
  refresh,
  sdkAccounts,
  sdkRows,
  TRAINING_REPOSITORIES,
} from './facts/image-catalogue.ts';
export {
  frameworkProblem,
  imageFor,
  imageProblem,
  imageVersions,
  packagesOfImage,
  packagesOfTraining,
} from './facts/training-images.ts';
