/** Decimal numbers as text: a number of JavaScript would lose their digits. */

function parts(text: string): { units: bigint; scale: number } {
  const [whole = "0", fraction = ""] = text.replace("-", "").split(".");
  const units = BigInt(whole + fraction);
  return { units: text.startsWith("-") ? -units : units, scale: fraction.length };
}

/** The exact difference of two decimal numbers. */
export function difference(left: string, right: string): string {
  const [a, b] = [parts(left), parts(right)];
  const scale = Math.max(a.scale, b.scale);
  const units = a.units * 10n ** BigInt(scale - a.scale) - b.units * 10n ** BigInt(scale - b.scale);
  return written(units, scale);
}

function written(units: bigint, scale: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, "");
  return `${units < 0n ? "-" : ""}${whole}${fraction ? `.${fraction}` : ""}`;
}

/** To the cent, half away from zero, with commas: for the eye; what is copied has every digit. */
export function grouped(text: string): string {
  const { units, scale } = parts(text);
  const size = units < 0n ? -units : units;
  const step = 10n ** BigInt(Math.max(0, scale - 2));
  const cents = scale <= 2 ? size * 10n ** BigInt(2 - scale) : (size + step / 2n) / step;
  const digits = cents.toString().padStart(3, "0");
  const whole = digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${units < 0n && cents > 0n ? "-" : ""}${whole}.${digits.slice(-2)}`;
}

/** Every digit, without the zeros behind the last of them. */
export function exact(text: string): string {
  const { units, scale } = parts(text);
  return written(units, scale);
}
