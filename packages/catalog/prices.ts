/**
 * Prices of the AWS Price List, of transfers and of file systems.
 *
 * Out: USD, with the source and its date. Called by placement, the market's adapters and the records.
 */

export {
  type FileSystem,
  fileSystemHourlyUsd,
  lustreGigabytesFor,
  priceNoteOf,
} from './facts/file-systems.ts';
export {
  BETWEEN_REGIONS,
  ec2PriceOf,
  type KeptPrice,
  type ListPrice,
  type ListPrices,
  listPricesSchema,
  priceListRegion,
  priceOf,
  type TransferPrice,
  transferPriceOf,
} from './facts/price-list.ts';
export { tabledTransferUsd, transferPricesAsOf, transferUsdPerGigabyte } from './facts/transfer.ts';
