/** The screens that a reader may open next, loaded together: each file of its own would cost headers and compress worse. */
export { CompareScreen } from './compare.tsx';
export { DataScreen } from './data.tsx';
export { MarketScreen } from './market.tsx';
export { MoneyScreen } from './money.tsx';
export { ProbesScreen } from './probes.tsx';
export { RunScreen } from './run/run.tsx';
