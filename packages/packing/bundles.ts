/**
 * Many small files in one object, and the names of what lies in it.
 *
 * Called by `tidewheel drop` and the API.
 */
export { type BundledFile, isAllowed, makeBundle } from './arrivals/bundle-index.ts';
export { bundleDataKey, bundleKeys, bundlePlace, MOST_MEMBER_BYTES } from './arrivals/bundle-place.ts';
export { splitKey } from './documents/member-names.ts';
export { compareKeys } from './documents/order.ts';
export { labelOfKey } from './documents/sample-names.ts';
