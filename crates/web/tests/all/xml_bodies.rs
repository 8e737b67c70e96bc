//! Bodies in XML: equivalent documents are read alike, and each error has its answer.

use crate::support::pets::{send_xml, serve_pets};
use serde_json::json;

#[tokio::test]
async fn equivalent_documents_are_read_alike() {
    let (_server, client) = serve_pets().await;
    let cat = json!({"id": 7, "name": "Tom & Jerry", "tags": [[1, "a"], [null, "b"]]});
    let tags = "<tags><tag><id>1</id><name>a</name></tag><tag><name>b</name></tag></tags>";
    let plain = format!("<pet><id>7</id><name>Tom &amp; Jerry</name>{tags}</pet>");
    let spellings = [
        plain.clone(),
        format!("\u{feff}{plain}"),
        format!("<?xml version=\"1.0\"?>{plain}"),
        format!("<?xml version='1.0' encoding='utf-8' standalone='yes'?>\r\n{plain}\r\n"),
        format!("\u{feff}<?xml version=\"1.0\" encoding=\"US-ASCII\"  ?>{plain}"),
        format!(" \t\r\n{plain}\n\n"),
        format!("<!-- a - b --><?style x='<>'?>\n{plain}<!----><?end?>"),
        format!("<pet><!-- <id>8</id> --><id>7</id><name>Tom &amp; Jerry</name><?odd?>{tags}</pet>"),
        format!("<pet>{tags}<name>Tom &#38; Jerry</name><id>7</id></pet>"),
        format!("<pet><id> \r\n\t7 </id><name>Tom &#x26; Jerry</name>{tags}</pet>"),
        format!("<pet><id>0007</id><name>Tom &#x000026; Jerry</name>{tags}</pet>"),
        format!("<pet><id>&#55;</id><name><![CDATA[Tom & Jerry]]></name>{tags}</pet>"),
        format!("<pet><id><![CDATA[7]]></id><name>Tom<![CDATA[ & ]]>Jerry</name>{tags}</pet>"),
        format!("<pet><id>7</id><name>Tom <!-- and -->&amp;<?odd x?> Jerry</name>{tags}</pet>"),
        format!("<pet  >\n <id >7</id\n>\n <name\t>Tom &amp; Jerry</name >\n {tags}\n</pet\r\n>"),
        format!("<pet xmlns=\"urn:pets\">{}", &plain[5..]),
        format!("<pet xmlns='urn:a' xmlns:x='urn:x' x:y='z' y=\"'&lt;&#62;\">{}", &plain[5..]),
        format!(
            "<p:pet xmlns:p='urn:p'><p:id p:a='1' a='2'>7</p:id><p:name xml:lang='en'>Tom &amp; Jerry</p:name>\
             {tags}</p:pet>"
        ),
        format!(
            "<pet><q:id xmlns:q='urn:q'>7</q:id><q:name xmlns:q='urn:r'>Tom &amp; Jerry</q:name>{tags}</pet>"
        ),
        format!("<pet kind=\"cat\"><other><deep id='1'/></other><other/>{}", &plain[5..]),
        plain.replace("<tags>", "<tags><other><name>c</name></other>\n"),
        plain.replace("<id>1</id>", "<id\nsource = \"x > y\"\tother='\"'>1</id>"),
        plain.replace("Tom", "T&#111;m").replace("Jerry", "&#x4a;&#x65;rry"),
        plain.replace("<name>b", "<größe/><名/><_a.b-c·/><name>b"),
    ];
    for spelling in spellings {
        for media_type in ["application/xml", "text/xml", "Application/XML; charset=\"UTF-8\""] {
            let answer = client.post("/pet").body(media_type, spelling.clone()).send().await;
            assert_eq!((answer.status, answer.json()), (200, cat.clone()), "{spelling}");
        }
    }
}

#[tokio::test]
async fn text_is_decoded_by_the_rules_of_xml() {
    let (_server, client) = serve_pets().await;
    for (written, meant) in [
        ("a", "a"),
        ("  a\tb ", "  a\tb "),
        ("\n a \n", "\n a \n"),
        // Line ends are one character to every reader of XML, unless they are written by number.
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("a&#13;b&#10;&#xD;c&#xd;&#10;", "a\rb\n\rc\r\n"),
        ("<![CDATA[a\r\nb]]>", "a\nb"),
        ("&lt;&gt;&amp;&quot;&apos;", "<>&\"'"),
        ("&amp;lt;", "&lt;"),
        ("<![CDATA[<b>&amp;]]>", "<b>&amp;"),
        ("<![CDATA[]]]]><![CDATA[>]]>", "]]>"),
        ("a<![CDATA[]]>b<!---->c", "abc"),
        ("]] > ]]&gt;", "]] > ]]>"),
        (">\"'", ">\"'"),
        ("é😀&#233;&#x1F600;", "é😀é😀"),
        ("\u{feff}a\u{2028}", "\u{feff}a\u{2028}"),
    ] {
        let answer = send_xml(&client, format!("<pet><name>{written}</name></pet>")).await;
        answer.is(200, &json!({"name": meant}));
    }
}

/// The error of a document that is not well formed: the message, and its column in the first line.
fn invalid(what: &str, column: usize) -> String {
    format!("is not valid XML: {what} at line 1 column {column}")
}

#[tokio::test]
async fn document_that_is_not_well_formed_gets_400() {
    let (_server, client) = serve_pets().await;
    let outside = "there must be no text outside of the root element";
    let nameless = "a tag must start with a name";
    let quotes = "an attribute's value must stand in quotes";
    let open = "an & must start a reference like &amp;, which ends with a semicolon";
    let unclosed = "tag not closed: > not found before end of input";
    for (body, what, column) in [
        ("pet", outside, 1),
        ("{\"name\": \"a\"}", outside, 1),
        ("\u{feff}\u{feff}<pet/>", outside, 1),
        ("<!-- -->", "there is no element", 9),
        ("<?xml version='1.0'?>", "there is no element", 22),
        ("<pet>", "it ends before </pet>", 6),
        ("<pet><name>a", "it ends before </name>", 13),
        ("<pet><name>a</name>", "it ends before </pet>", 20),
        ("<pet", unclosed, 1),
        ("<pet><name", unclosed, 6),
        ("<pet></pet", unclosed, 6),
        ("<", unclosed, 1),
        ("<pet a='>", "attribute value not closed: ' not found before end of input", 1),
        ("<pet a=\">", "attribute value not closed: \" not found before end of input", 1),
        ("<pet></name>", "</name> cannot end <pet>", 6),
        ("<pet><a><b></a></b></pet>", "</a> cannot end <b>", 12),
        ("<pet></Pet>", "</Pet> cannot end <pet>", 6),
        ("<pet></ pet>", "</ pet> cannot end <pet>", 6),
        ("<pet></pet a='1'>", "</pet a='1'> cannot end <pet>", 6),
        ("<a:pet xmlns:a='u' xmlns:b='u'></b:pet>", "</b:pet> cannot end <a:pet>", 32),
        ("</pet>", "there is no element that this tag could end", 1),
        ("<pet/></pet>", "there is no element that this tag could end", 7),
        ("<pet/><pet/>", "there must be one root element only", 7),
        ("<pet></pet><name>a</name>", "there must be one root element only", 12),
        ("<pet/>x", outside, 7),
        ("x<pet/>", outside, 1),
        ("<pet/>&amp;", outside, 7),
        ("<pet/><![CDATA[]]>", outside, 7),
        ("<pet/>\u{a0}", outside, 7),
        ("< pet/>", nameless, 1),
        ("<>", nameless, 1),
        ("<pet><1/></pet>", nameless, 6),
        ("<pet><-a/></pet>", nameless, 6),
        ("<pet><a/ ></pet>", nameless, 6),
        ("<pet><a:/></pet>", nameless, 6),
        ("<pet><:a/></pet>", nameless, 6),
        ("<pet><a:b:c/></pet>", nameless, 6),
        ("<pet><a\u{d7}/></pet>", nameless, 6),
        ("<pet><name<x/></pet>", nameless, 6),
        ("<a:pet/>", "a prefix is not declared", 1),
        ("<pet><a xmlns:p='u'/><p:b/></pet>", "a prefix is not declared", 22),
        ("<pet a:b='c'/>", "a prefix is not declared", 1),
        ("<xmlns:pet/>", "a prefix is not declared", 1),
        ("<pet a/>", "an attribute must have a value", 1),
        ("<pet / >", "an attribute must have a value", 1),
        ("<pet a=b/>", quotes, 1),
        ("<pet a=/>", quotes, 1),
        ("<pet a=é'/>'>", quotes, 1),
        ("<pet ='b'/>", "an attribute must have a name", 1),
        ("<pet a b='c'/>", "an attribute must have a name", 1),
        ("<pet 1='c'/>", "an attribute must have a name", 1),
        ("<pet a='b'c='d'/>", "there must be a blank before an attribute", 1),
        ("<pet a='1' b='' a='1'/>", "an attribute is given more than once", 1),
        ("<pet a='<'/>", "< must be written as &lt; in an attribute", 1),
        ("<pet a='&'/>", open, 1),
        ("<pet a='&nbsp;'/>", "&nbsp; stands for no character", 1),
        ("<pet a='&#0;'/>", "&#0; stands for no character", 1),
        ("<pet>&nbsp;</pet>", "&nbsp; stands for no character", 6),
        ("<pet>&xxe;</pet>", "&xxe; stands for no character", 6),
        ("<pet>&AMP;</pet>", "&AMP; stands for no character", 6),
        ("<pet>&;</pet>", "&; stands for no character", 6),
        ("<pet>& b;</pet>", "& b; stands for no character", 6),
        ("<pet>&#;</pet>", "&#; stands for no character", 6),
        ("<pet>&#x;</pet>", "&#x; stands for no character", 6),
        ("<pet>&#X41;</pet>", "&#X41; stands for no character", 6),
        ("<pet>&#+65;</pet>", "&#+65; stands for no character", 6),
        ("<pet>&#6 5;</pet>", "&#6 5; stands for no character", 6),
        ("<pet>&#0;</pet>", "&#0; stands for no character", 6),
        ("<pet>&#x1;</pet>", "&#x1; stands for no character", 6),
        ("<pet>&#27;</pet>", "&#27; stands for no character", 6),
        ("<pet>&#xD800;</pet>", "&#xD800; stands for no character", 6),
        ("<pet>&#xFFFE;</pet>", "&#xFFFE; stands for no character", 6),
        ("<pet>&#x110000;</pet>", "&#x110000; stands for no character", 6),
        ("<pet>&#99999999999999999999;</pet>", "&#99999999999999999999; stands for no character", 6),
        ("<pet>a & b</pet>", open, 8),
        ("<pet>&amp</pet>", open, 6),
        ("<pet>&&amp;</pet>", open, 6),
        ("<pet>&amp", open, 6),
        ("<pet>]]></pet>", "]]> must be written as ]]&gt; in text", 6),
        ("<pet>\0</pet>", "the character U+0000 is not allowed", 6),
        ("<pet>\u{1b}</pet>", "the character U+001B is not allowed", 6),
        ("<pet><!-- \u{8} --></pet>", "the character U+0008 is not allowed", 11),
        ("<pet a='\u{fffe}'/>", "the character U+FFFE is not allowed", 9),
        ("<pet>é\u{ffff}</pet>", "the character U+FFFF is not allowed", 7),
        ("<pet><!-- a -- b --></pet>", "a comment must not contain --", 13),
        ("<pet><!-- a ---></pet>", "a comment must not contain --", 13),
        ("<pet><!--", "comment not closed: --> not found before end of input", 6),
        ("<!-->", "comment not closed: --> not found before end of input", 1),
        ("<!--->", "comment not closed: --> not found before end of input", 1),
        ("<pet><![CDATA[a]]</pet>", "CDATA not closed: ]]> not found before end of input", 6),
        ("<pet><![cdata[a]]></pet>", "CDATA not closed: ]]> not found before end of input", 6),
        ("<pet><!name></pet>", "unknown or missed symbol in markup", 6),
        ("<!ENTITY a 'b'><pet/>", "unknown or missed symbol in markup", 1),
        ("<pet><?", "processing instruction not closed: ?> not found before end of input", 6),
        ("<pet><?></pet>", "processing instruction not closed: ?> not found before end of input", 6),
        ("<pet><??></pet>", "a processing instruction must start with a name", 6),
        ("<pet><?XML a?></pet>", "a processing instruction must start with a name", 6),
        (" <?xml version='1.0'?><pet/>", "an XML declaration must come first", 2),
        ("<pet><?xml version='1.0'?></pet>", "an XML declaration must come first", 6),
        ("<?xml version='1.0'?><?xml version='1.0'?><pet/>", "an XML declaration must come first", 22),
        ("<?xml?><pet/>", "an XML declaration must start with its version", 1),
        ("<?xml encoding='UTF-8'?><pet/>", "an XML declaration must start with its version", 1),
        ("<?xml version=1.0?><pet/>", quotes, 1),
        ("<?xml version='1.0'", "XML declaration not closed: ?> not found before end of input", 1),
        (
            "<?xml version='1.0' standalone='maybe'?><pet/>",
            "the XML declaration has something that does not belong there",
            1,
        ),
        (
            "<?xml version='1.0' standalone='no' encoding='UTF-8'?><pet/>",
            "the XML declaration has something that does not belong there",
            1,
        ),
    ] {
        let answer = send_xml(&client, body).await;
        assert_eq!(answer.status, 400, "{body:?}: {}", answer.text());
        assert_eq!(answer.json()["errors"][0]["detail"], invalid(what, column), "{body:?}");
        answer.is_invalid(&[("#", &invalid(what, column))]);
    }
    let answer = send_xml(&client, "<pet>\n  <näme/>é<a>\n</pet>").await;
    answer.is_invalid(&[("#", "is not valid XML: </pet> cannot end <a> at line 3 column 1")]);
}

#[tokio::test]
async fn doctype_other_encoding_or_other_root_gets_400() {
    let (_server, client) = serve_pets().await;
    let doctype = "must not have a DOCTYPE";
    let root = "must be an XML document with the root element pet, not";
    for (body, why) in [
        ("", "is empty; an XML document is required".to_owned()),
        (" \n", "is empty; an XML document is required".to_owned()),
        ("\u{feff}", "is empty; an XML document is required".to_owned()),
        ("<!DOCTYPE pet><pet/>", doctype.to_owned()),
        ("<!doctype pet><pet/>", doctype.to_owned()),
        ("<!DOCTYPE><pet/>", doctype.to_owned()),
        ("<!DOCTYPE pet SYSTEM 'file:///etc/passwd'><pet/>", doctype.to_owned()),
        ("<!DOCTYPE pet [<!ENTITY a 'b'>]><pet><name>&a;</name></pet>", doctype.to_owned()),
        (
            "<?xml version='1.0'?><!DOCTYPE pet [<!ENTITY x SYSTEM 'http://127.0.0.1/'>]><pet>&x;</pet>",
            doctype.to_owned(),
        ),
        ("<pet><!DOCTYPE pet></pet>", doctype.to_owned()),
        ("<?xml version='1.1'?><pet/>", "must be XML 1.0, not 1.1".to_owned()),
        ("<?xml version='1.0' encoding='UTF-16'?><pet/>", "must be sent in UTF-8, not in UTF-16".to_owned()),
        (
            "<?xml version='1.0' encoding='ISO-8859-1'?><pet/>",
            "must be sent in UTF-8, not in ISO-8859-1".to_owned(),
        ),
        ("<Pet><name>a</name></Pet>", format!("{root} Pet")),
        ("<name>a</name>", format!("{root} name")),
        ("<p:pets xmlns:p='pet'/>", format!("{root} pets")),
    ] {
        let answer = send_xml(&client, body).await;
        assert_eq!(answer.status, 400, "{body:?}: {}", answer.text());
        answer.is_invalid(&[("#", &why)]);
    }
    for bytes in [
        b"<pet><name>\xe9</name></pet>".as_slice(),
        b"\xff\xfe<\0p\0e\0t\0/\0>\0",
        b"<?xml version='1.0' encoding='ISO-8859-1'?><pet><name>\xe9</name></pet>",
    ] {
        send_xml(&client, bytes).await.is_invalid(&[("#", "is not UTF-8")]);
    }
    let long = format!("<{}/>", "x".repeat(100_000));
    send_xml(&client, long).await.is_invalid(&[("#", &format!("{root} {}", "x".repeat(60)))]);
}

#[tokio::test]
async fn depth_elements_and_attributes_are_limited() {
    let (_server, client) = serve_pets().await;
    let nested =
        |depth: usize| format!("<pet><name>a</name>{}{}</pet>", "<a>".repeat(depth), "</a>".repeat(depth));
    let fine = json!({"name": "a"});
    send_xml(&client, nested(31)).await.is(200, &fine);
    let deep = [("#", "must not be nested deeper than 32 elements")];
    send_xml(&client, nested(32)).await.is_invalid(&deep);
    send_xml(&client, nested(100_000)).await.is_invalid(&deep);
    send_xml(&client, "<a>".repeat(300_000)).await.is_invalid(&deep);

    let wide = |count: usize| format!("<pet><name>a</name>{}</pet>", "<a/>".repeat(count));
    send_xml(&client, wide(49_998)).await.is(200, &fine);
    let many = [("#", "must have at most 50000 elements")];
    send_xml(&client, wide(49_999)).await.is_invalid(&many);
    send_xml(&client, wide(200_000)).await.is_invalid(&many);

    let attributes = |count: usize| {
        let attributes: String = (0..count).map(|index| format!(" a{index}=''")).collect();
        format!("<pet{attributes}><name>a</name></pet>")
    };
    send_xml(&client, attributes(64)).await.is(200, &fine);
    let many = invalid("an element has too many attributes", 1);
    send_xml(&client, attributes(65)).await.is_invalid(&[("#", &many)]);
    send_xml(&client, attributes(80_000)).await.is_invalid(&[("#", &many)]);

    // Prefixes end with their element; only those that are open at once are counted.
    let spaces = |prefix: &str| -> String { (0..40).map(|at| format!(" xmlns:{prefix}{at}='u'")).collect() };
    let beside = format!("<pet><a{}/><b{}/><name>a</name></pet>", spaces("x"), spaces("x"));
    send_xml(&client, beside).await.is(200, &fine);
    let within = format!("<pet{}><a{}/><name>a</name></pet>", spaces("x"), spaces("y"));
    let answer = send_xml(&client, within.clone()).await;
    let column = within.find("<a").unwrap() + 1;
    answer.is_invalid(&[("#", &invalid("there are too many namespaces", column))]);
}
