/** Where AWS's training images lie: in one account or more for each partition, those of algorithms in one for each region. */
import table from './image-table.json' with { type: 'json' };

const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)].toSorted();

/** The accounts of Deep Learning Containers. */
export const CONTAINER_ACCOUNTS = distinct(Object.values(table.accounts));

export const AWS_IMAGE_ACCOUNTS = distinct([
  ...CONTAINER_ACCOUNTS,
  ...Object.values(table.algorithmAccounts),
]);
