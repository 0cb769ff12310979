/** The accounts of AWS that hold the Deep Learning Containers, one or more for each partition. */
import table from './image-table.json' with { type: 'json' };

const accounts: Readonly<Record<string, string>> = table.accounts;

export const AWS_IMAGE_ACCOUNTS: readonly string[] = [...new Set(Object.values(accounts))].toSorted();
