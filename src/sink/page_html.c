/* The HTML around the sections: one file, no script, nothing loaded from anywhere. It is also well-formed XML, so that any parser can check it. */
#include <errno.h>
#include <string.h>

#include "page_parts.h"

static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--card:#f6f7f9;--ink:#1b2027;--soft:#5a6572;--line:#d9dee4;--accent:#0b62a8;--bad:#b3261e;"
	"--knee:#f3c96b;--c1:#0b62a8;--c2:#c2571a;--c3:#7a3e9d;--ideal:#8a949f;--goal:#1d7a46;--h1:#dbe9f6;--h2:#b5d3ec;--h3:#7fb2dc;"
	"--h4:#4a8dc6;--h5:#1f65a5;--h6:#0a3d70;--w1:#fbe3c4;--w2:#f0a860;--w3:#c2571a}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#14181d;--card:#1d232a;--ink:#e6eaee;--soft:#a0abb7;--line:#343d47;--accent:#6cb2ee;"
	"--bad:#ff8a80;--knee:#94761f;--c1:#6cb2ee;--c2:#f2a261;--c3:#c79be6;--ideal:#76818d;--goal:#5fcf93;--h1:#16304a;--h2:#1c4770;"
	"--h3:#2766a0;--h4:#4189c8;--h5:#7db5e6;--h6:#c9e2f8;--w1:#4a3319;--w2:#a8662a;--w3:#f2a261}}\n"
	"*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,"
	"'Helvetica Neue',Arial,sans-serif}main{max-width:1120px;margin:0 auto;padding:24px 20px 48px}\n"
	"h1{font-size:26px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:20px;margin:36px 0 10px;padding-top:10px;"
	"border-top:2px solid var(--line)}h3{font-size:16px;margin:22px 0 6px}p{margin:6px 0 10px;max-width:78ch;overflow-wrap:anywhere}"
	"li{max-width:78ch;overflow-wrap:anywhere}ul{padding-left:22px;margin:6px 0 12px}.note,.legend,footer{color:var(--soft);font-size:13px}\n"
	"sup{font-size:9px;line-height:0;color:var(--soft);margin-left:1px}"
	".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(230px,1fr));gap:12px;margin:18px 0}"
	".tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px}"
	".label{color:var(--soft);font-size:12px;text-transform:uppercase;letter-spacing:.05em}.figure{font-size:20px;font-weight:650;"
	"line-height:1.3;overflow-wrap:anywhere}.below{font-size:13px;color:var(--soft);overflow-wrap:anywhere}\n"
	".wide{overflow-x:auto;margin:8px 0 14px}table{border-collapse:collapse;font-size:13.5px;font-variant-numeric:tabular-nums}"
	"caption{text-align:left;color:var(--soft);font-size:13px;padding-bottom:4px}th,td{padding:4px 10px 4px 0;text-align:left;"
	"vertical-align:top;border-bottom:1px solid var(--line)}th{font-weight:600;color:var(--soft);vertical-align:bottom}"
	"td.n,th.n{text-align:right;padding-left:6px}td.n{white-space:nowrap}td{overflow-wrap:break-word}td:not(.n){min-width:6.5em;max-width:30em}\n"
	".group{font-weight:600;font-size:14px;margin:12px 0 2px}dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,250px),1fr));"
	"gap:2px 24px;margin:4px 0 10px;font-size:13.5px}dl div{border-bottom:1px solid var(--line);padding:3px 0}dt{color:var(--soft);font-size:12px}"
	"dd{margin:0;overflow-wrap:anywhere}\n"
	"details{margin:8px 0}summary{cursor:pointer;color:var(--accent)}.charts{display:grid;"
	"grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:18px 22px;margin:12px 0}figure{margin:0}"
	"figcaption{font-size:13px;color:var(--soft)}svg{font-family:inherit}svg.chart{display:block;width:100%;height:auto;overflow:visible}\n"
	"text{fill:var(--ink);font-size:12px}text.tick{fill:var(--soft)}text.name{fill:var(--soft)}text.kneename{font-weight:600;"
	"fill:var(--soft)}text.goalname{fill:var(--goal)}.grid{stroke:var(--line)}.axis{stroke:var(--soft)}.knee{fill:var(--knee);"
	"opacity:.45}.goal{stroke:var(--goal);stroke-dasharray:7 4}path,line{fill:none;stroke-width:1}.done,.p50,.p95,.p99,.ok{stroke-width:2}"
	".done,.p50{stroke:var(--c1)}.p95,.ok{stroke:var(--c2)}.p99{stroke:var(--c3)}.p95{stroke-dasharray:8 3}.p99{stroke-dasharray:2 3}"
	".ok{stroke-dasharray:5 3}.ideal{stroke:var(--ideal);stroke-dasharray:3 4;stroke-width:1.5}.kneeline{stroke:var(--knee);"
	"stroke-width:12;stroke-linecap:round;opacity:.6}circle{stroke-dasharray:none!important;stroke-width:2}circle.done,circle.p50{"
	"fill:var(--c1)}circle.p95{fill:var(--c2)}circle.p99{fill:var(--c3)}circle.bad{fill:var(--bg)}\n";

static const char style_print[] =
	"@media(max-width:600px){main{padding:16px 14px 32px}h1{font-size:21px}h2{font-size:18px}}\n"
	"@media print{:root{color-scheme:light;--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--accent:#000;--bad:#a00;"
	"--knee:#f3c96b;--c1:#0b62a8;--c2:#c2571a;--c3:#7a3e9d;--ideal:#777;--goal:#1d7a46;--h1:#dbe9f6;--h2:#b5d3ec;--h3:#7fb2dc;"
	"--h4:#4a8dc6;--h5:#1f65a5;--h6:#0a3d70;--w1:#fbe3c4;--w2:#f0a860;--w3:#c2571a}*{print-color-adjust:exact;"
	"-webkit-print-color-adjust:exact}body{font-size:10pt}main{max-width:none;padding:0}h2{break-after:avoid}h3{break-after:avoid}"
	"figure,.tile,tr,svg,li{break-inside:avoid}.wide{overflow:visible}table{font-size:8.5pt}.charts{grid-template-columns:1fr 1fr}dl{grid-template-columns:1fr 1fr 1fr}"
	".tiles{grid-template-columns:1fr 1fr}}\n"
	"@page{margin:14mm}\n";

int up_page_html(const struct up_page *page, struct up_buffer *out)
{
	struct up_doc doc = { .out = out, .html = true };

	up_buffer_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
			   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
			   "<meta name=\"color-scheme\" content=\"light dark\"/>\n<meta name=\"generator\" content=\"useprobe ");
	up_html_bare(out, page->version);
	up_buffer_add(out, "\"/>\n<title>Load test report");
	if (page->target) {
		up_buffer_add(out, ": ");
		up_html_bare(out, up_plain(page->target).text);
	}
	up_buffer_add(out, "</title>\n<style>\n");
	up_buffer_add(out, style);
	up_buffer_add(out, up_page_style_time);
	up_buffer_add(out, style_print);
	up_buffer_add(out, "</style>\n</head>\n<body>\n<main>\n");
	up_page_sections(&doc, page);
	up_buffer_add(out, "</main>\n</body>\n</html>\n");
	return out->failed ? -ENOMEM : 0;
}

int up_page_markdown(const struct up_page *page, struct up_buffer *out)
{
	struct up_doc doc = { .out = out };

	up_page_sections(&doc, page);
	return out->failed ? -ENOMEM : 0;
}
