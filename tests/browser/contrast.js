// The texts that stand out too little from what is behind them, by WCAG 2: below 4.5.
const parse = (colour) => {
    const numbers = colour.match(/[\d.]+(?:e-?\d+)?/g).map(Number);
    const scale = colour.startsWith("color(") ? 255 : 1;
    return [...numbers.slice(0, 3).map((part) => part * scale), numbers[3] ?? 1];
};
const over = ([red, green, blue, alpha], ground) => (
    [red, green, blue].map((part, at) => part * alpha + ground[at] * (1 - alpha)));
const luminance = (colour) => colour.map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
// Element -> what is behind its text, and its opacity within all that it stands in.
const surroundings = new Map([[null, [[255, 255, 255], 1]]]);
const around = (element) => {
    if (!surroundings.has(element)) {
        const [ground, opacity] = around(element.parentElement);
        const style = getComputedStyle(element);
        surroundings.set(element, [over(parse(style.backgroundColor), ground), opacity * style.opacity]);
    }
    return surroundings.get(element);
};
const faint = new Set();
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest("script, style, title, option, [disabled], .skip")) continue;
    const style = getComputedStyle(element);
    const [red, green, blue, alpha] = parse(element instanceof SVGElement ? style.fill : style.color);
    const [ground, opacity] = around(element);
    const [light, dark] = [luminance(over([red, green, blue, alpha * opacity], ground)), luminance(ground)]
        .sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) {
        faint.add(`${contrast.toFixed(2)} ${element.localName}.${element.getAttribute("class")}: ${element.textContent.trim().slice(0, 20)}`);
    }
}
return [...faint];
